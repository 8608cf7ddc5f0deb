//! Programs that show or change the state of the system: processes, services, devices, users, packages of the system.

use super::{Operands, Program};
use crate::directory::shown;
use crate::judge::Parsed;
use crate::secrets::is_secret_variable;
use crate::{Effect, Word};

/// Shows something that is named by words, not by paths.
const fn shows(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options).with(Operands::Text)
}

pub(super) const ROWS: &[Program] = &[
    // Users, machine, time.
    shows(&["whoami", "groups", "arch", "tty", "logname", "users", "sw_vers"], "").examples(&["whoami", "groups"], &["whoami -x"]),
    shows(&["id"], "-agGnruzZ --group --groups --name --real --user --zero").gnu().examples(&["id -un"], &["id --frob"]),
    shows(
        &["uname"],
        "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system",
    )
    .gnu()
    .examples(&["uname -a", "uname -sr"], &["uname -x"]),
    shows(&["nproc"], "--all --ignore=").gnu().examples(&["nproc --all"], &["nproc -x"]),
    shows(&["uptime", "w", "who", "last", "lastlog"], "-pshabdlmqrtTuHiFwxRn -# --pretty --since --heading").examples(&["uptime -p", "who -b", "last -10"], &["who --frob"]),
    shows(&["free"], "-bkmghtwlv -sc= --kilo --mega --giga --tera --kibi --mebi --gibi --tebi --si --human --lohi --total --wide --committed")
        .gnu()
        .examples(&["free -h"], &["free -x"]),
    shows(
        &["lscpu", "lsmem", "lsns", "lsipc", "lslocks"],
        "-abBcdefghHiJlmnpPqQrstTuxyz -o= --all --json --online --offline --bytes --noheadings --raw --output= --output-all --extended? --parse? --caches?",
    )
    .examples(&["lscpu", "lsmem --json"], &["lscpu --sysroot x"]),
    shows(&["lspci"], "-vnkxbtmDP -sd=").examples(&["lspci -nnk"], &["lspci -F x"]),
    shows(&["lsusb"], "-vtV -sd=").examples(&["lsusb -t"], &["lsusb --frob"]),
    shows(&["lsmod"], "").examples(&["lsmod"], &["lsmod -x"]),
    shows(&["nvidia-smi"], "-Lq -id= -l? --list-gpus --query --query-gpu= --query-compute-apps= --format= --id= --loop= --display=")
        .careful()
        .note("other options set modes and reset devices")
        .examples(&["nvidia-smi", "nvidia-smi --query-gpu=memory.used --format=csv"], &["nvidia-smi --gpu-reset", "nvidia-smi -r", "nvidia-smi -pm 1"]),
    shows(
        &["lsblk"],
        "-abdfilmnprstADEJMOPSTz -Ioewx= --all --bytes --fs --json --list --noheadings --nodeps --output= --output-all --paths --pairs --perms \
         --raw --scsi --topology --tree? --inverse --include= --exclude= --sort= --ascii",
    )
    .examples(&["lsblk -f", "lsblk -o NAME,SIZE"], &["lsblk --sysroot x"]),
    shows(
        &["findmnt"],
        "-smkAabCcDefilnPRruvJU -dNOoSTMtF= --all --df --fstab --json --list --noheadings --options= --output= --source= --target= --mountpoint= \
         --types= --raw --real --submounts --tree",
    )
    .examples(&["findmnt -T ."], &["findmnt --frob"]),
    shows(&["mount"], "-l -t=").careful().check(|parsed| parsed.operands.is_empty()).examples(&["mount", "mount -t ext4"], &["mount /mnt", "mount -a"]),
    shows(&["locale"], "-amck --all-locales --charmaps").examples(&["locale -a"], &["locale --frob"]),
    shows(&["cal", "ncal"], "-13yjmMswhb -nABm=").examples(&["cal -3"], &["cal --frob"]),
    shows(&["getconf", "uuidgen", "hostid"], "-artv --random --time").examples(&["getconf PAGESIZE", "uuidgen"], &["uuidgen --frob"]),
    shows(&["getent"], "-s= --service=")
        .careful()
        .note("`shadow` holds secrets, `hosts` asks other machines")
        .check(|parsed| matches!(parsed.literal(0), Some("passwd" | "group" | "services" | "protocols" | "rpc" | "aliases" | "initgroups")))
        .examples(&["getent passwd me", "getent group"], &["getent shadow", "getent $x", "getent hosts example.com"]),
    shows(&["hostname"], "-fsidAI --fqdn --short --ip-address --all-ip-addresses --domain --all-fqdns")
        .careful()
        .note("an operand sets the name")
        .check(|parsed| parsed.operands.is_empty())
        .examples(&["hostname -f"], &["hostname new", "hostname -F x", "hostname -b"]),
    shows(
        &["date", "gdate"],
        "-Rujn -I? -dv= -r=< --date= --utc --universal --rfc-3339= --iso-8601? --rfc-email --resolution --reference=< --debug !-s= !--set= !-f= !--file=",
    )
    .gnu()
    .careful()
    .note("`-s` and an operand that is no format set the clock")
    .check(|parsed| parsed.operands.iter().all(|word| is_one_word(word) && shown(word).starts_with('+')))
    .examples(
        &["date +%s", "date -u '+%Y-%m-%d'", "date -d '2 days ago' +%F", "date -Iseconds", "date --date=now"],
        &["date -s now", "date --se=now", "date 010203", "date -f x", "date $x"],
    ),
    // Processes.
    shows(
        &["ps"],
        "-AaedfFljLTHwxNMycZ -opuUCtgGsqOk= --sort= --no-headers --no-heading --forest --pid= --ppid= --user= --User= --format= --headers \
         --cols= --columns= --width= --deselect --cumulative",
    )
    .careful()
    .note("`e` shows the environments of processes, and these hold secrets")
    .check(ps_hides_environments)
    .examples(&["ps aux", "ps -ef --forest", "ps -o pid,cmd -p 1", "ps -p $$", "ps -aux", "ps u 1"], &["ps auxe", "ps e", "ps -o pid,environ", "ps -auxe", "ps $x"]),
    shows(
        &["pgrep"],
        "-acfilnovwxA -dgGPstuUrOF= --full --list-name --list-full --count --newest --oldest --exact --inverse --ignore-case --delimiter= --parent= \
         --euid= --uid= --group= --session= --terminal= --runstates= !--signal=",
    )
    .examples(&["pgrep -fl node"], &["pgrep --signal 9 x"]),
    shows(&["pidof"], "-csqx -oS=").examples(&["pidof bash"], &["pidof --frob x"]),
    shows(&["pstree"], "-acghlnpstTuZA -H= --arguments --show-pids --long").examples(&["pstree -p"], &["pstree --frob"]),
    shows(&["top"], "-bcHiSs1 -dnopuUwOe= !-e=")
        .careful()
        .note("interactive without `-b`")
        .check(|parsed| parsed.has(&["-b"]))
        .examples(&["top -bn1", "top -b -n 1 -o %MEM"], &["top", "top -n1"]),
    shows(&["lsof"], "-nPtlUabRwNVH -iF? -pucdgs= !-D=")
        .careful()
        .examples(&["lsof -i :3000", "lsof -ti:8080", "lsof -p 1 -n -P"], &["lsof -D b", "lsof \"$x\""]),
    shows(&["fuser"], "-acfluvV46m -n= !-k !--kill !-w !-i")
        .careful()
        .note("`-k` kills")
        .examples(&["fuser 8080/tcp", "fuser -v ."], &["fuser -k 8080/tcp", "fuser -vk ."]),
    shows(&["vmstat", "iostat", "mpstat", "sar", "pidstat"], "-adfimnstwxkzhcNpyruP -SI=").examples(&["vmstat 1 5", "iostat -xz 1 3"], &["sar -o x 1"]),
    // The network of this machine.
    shows(
        &["ss"],
        "-tulnpaoeimsrHxw460OZzbETMSd -fA= --tcp --udp --listening --numeric --processes --all --summary --no-header --extended --options --memory --info \
         --unix --raw --ipv4 --ipv6 --resolve --oneline --family= --query= --socket= !-K !--kill !-D= !--diag= !-F= !--filter=",
    )
    .careful()
    .note("`-K` closes sockets, `-D` writes")
    .examples(&["ss -tlnp", "ss -s"], &["ss -K dst 1.2.3.4", "ss -D x", "ss -F x"]),
    shows(&["netstat"], "-tulnpaeirsgWNoMxbvL46 -fI= --tcp --udp --listening --numeric --programs --all --route --statistics --interfaces --extend")
        .careful()
        .examples(&["netstat -tulpn"], &["netstat --frob"]),
    shows(&["ip"], "-46scojpdhVB -f= ~-br ~-brief ~-json ~-stats ~-details ~-color !-b= !~-batch !-n=")
        .careful()
        .note("only objects that are shown; `-batch` takes commands from a file")
        .check(ip_shows)
        .examples(
            &["ip addr", "ip -br a", "ip route show", "ip -4 addr show dev eth0", "ip route get 8.8.8.8", "ip -s link show eth0", "ip neigh"],
            &["ip link set eth0 down", "ip addr add 10.0.0.1/8 dev lo", "ip netns exec x ls", "ip -batch x", "ip -batch a", "ip route flush all", "ip $x"],
        ),
    shows(&["ifconfig"], "-asv").careful()
        .check(|parsed| parsed.operands.len() <= 1 && parsed.operands.iter().all(|word| is_one_word(word)))
        .examples(&["ifconfig", "ifconfig eth0"], &["ifconfig eth0 down"]),
    Program::acts(&["ip", "ifconfig"], &[Effect::State]).examples(&["ip link set eth0 down", "ifconfig eth0 up"], &["ip addr"]),
    // Logs and services.
    shows(
        &["journalctl"],
        "-exfkrqam -upogtSUcFM= -bn? --no-pager --since= --until= --unit= --lines? --priority= --output= --output-fields= --user --system --grep= --case-sensitive? \
         --follow --reverse --boot? --dmesg --quiet --user-unit= --identifier= --facility= --list-boots --disk-usage --catalog --merge --utc \
         --no-hostname --no-full --all --pager-end --fields --field= --cursor= --after-cursor= --show-cursor --header !--cursor-file= \
         !--vacuum-size= !--vacuum-time= !--vacuum-files= !--rotate !--flush !--sync !--relinquish-var !--update-catalog !--setup-keys",
    )
    .careful()
    .note("`--vacuum-*`, `--rotate` and `--flush` change what is kept")
    .examples(&["journalctl -u nginx -n 50 --no-pager", "journalctl --since today"], &["journalctl --vacuum-size=1M", "journalctl --rotate", "journalctl --cursor-file=x"]),
    shows(
        &["dmesg"],
        "-HTtxkurPSedpwWJ -lfFs= -L? --human --ctime --level= --facility= --color? --kernel --userspace --nopager --notime --reltime --decode --raw \
         --show-delta --since= --until= --time-format= --follow --json !-C !--clear !-c !--read-clear !-n= !--console-level= !-D !-E",
    )
    .careful()
    .note("`-c` and `-C` clear the log, `-n`, `-D` and `-E` change the console")
    .examples(&["dmesg -T", "dmesg --level=err"], &["dmesg -c", "dmesg -TC", "dmesg -n 1"]),
    shows(
        &[
            "systemctl status", "systemctl show", "systemctl cat", "systemctl list-units", "systemctl list-unit-files", "systemctl is-active",
            "systemctl is-enabled", "systemctl is-failed", "systemctl list-timers", "systemctl list-sockets", "systemctl list-dependencies",
            "systemctl list-jobs", "systemctl get-default", "systemctl is-system-running",
        ],
        "-laqr -ntpoP= --user --system --no-pager --all --full --no-legend --plain --lines= --type= --state= --property= --output= --failed --quiet \
         --value --recursive --reverse --legend= --timestamp=",
    )
    .careful()
    .examples(&["systemctl status nginx", "systemctl --user list-units --failed"], &["systemctl restart nginx", "systemctl -H host status x"]),
    Program::acts(
        &[
            "systemctl start", "systemctl stop", "systemctl restart", "systemctl reload", "systemctl enable", "systemctl disable", "systemctl mask",
            "systemctl unmask", "systemctl daemon-reload", "systemctl kill", "systemctl edit", "systemctl set-property", "systemctl isolate",
            "systemctl reboot", "systemctl poweroff",
        ],
        &[Effect::State],
    )
    .examples(&["systemctl restart nginx", "systemctl daemon-reload"], &["systemctl status nginx"]),
    shows(&["timedatectl", "hostnamectl", "loginctl", "localectl", "resolvectl"], "-al --no-pager --all --full --property= --value --json= --static --pretty --transient")
        .careful()
        .check(|parsed| {
            parsed.operands.is_empty()
                || parsed.operands.len() == 1
                    && parsed.literal(0).is_some_and(|verb| matches!(verb, "status" | "show" | "statistics" | "dns" | "hostname") || verb.starts_with("list-"))
        })
        .examples(&["timedatectl", "hostnamectl status", "loginctl list-sessions"], &["timedatectl set-time now", "hostnamectl hostname x", "hostnamectl set-hostname x"]),
    shows(&["crontab"], "-l -u=")
        .careful()
        .check(|parsed| parsed.has(&["-l"]) && parsed.operands.is_empty())
        .examples(&["crontab -l"], &["crontab -r", "crontab x", "crontab -e"]),
    shows(&["sysctl"], "-aAnNbeX --all --values --names --pattern= --ignore !-w !--write !-p? !--load? !-f? !--system")
        .gnu()
        .careful()
        .note("`-w`, `-p` and `name=value` set")
        .check(|parsed| (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(|name| !name.contains('='))))
        .examples(&["sysctl -a", "sysctl -n kernel.ostype"], &["sysctl -w vm.swappiness=1", "sysctl vm.swappiness=1", "sysctl -p", "sysctl --wri x=1"]),
    Program::acts(
        &[
            "pkill", "killall", "kill", "renice", "service", "mount", "umount", "swapoff", "swapon", "reboot", "shutdown", "poweroff", "halt", "sysctl",
            "modprobe", "insmod", "rmmod", "hostnamectl", "timedatectl", "localectl", "resolvectl", "useradd", "userdel", "usermod", "groupadd", "groupdel",
            "passwd", "chpasswd", "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "journalctl", "dmesg", "date", "hostname", "crontab", "at", "batch",
            "chsh", "loginctl", "fuser", "setfacl", "chattr", "launchctl", "stty", "tc", "route", "arp", "ethtool", "hwclock", "init", "telinit", "prlimit",
        ],
        &[Effect::State],
    )
    .examples(&["pkill -f node", "mount /dev/sdb1 /mnt", "crontab -r", "date -s now", "iptables -F", "shutdown -h now"], &["date", "crontab -l", "dmesg"]),
    // Packages of the system.
    shows(&["dpkg", "dpkg-query"], "-lLsSWpI -f= --list --listfiles --status --search --show --showformat= --get-selections --print-architecture --audit")
        .careful()
        .check(|parsed| {
            parsed.has(&["-l", "-L", "-s", "-S", "-W", "-p", "-I", "--list", "--listfiles", "--status", "--search", "--show", "--get-selections", "--print-architecture"])
        })
        .examples(&["dpkg -l", "dpkg -L bash", "dpkg-query -W -f='${Package}\\n'"], &["dpkg -i a.deb", "dpkg --purge x", "dpkg"]),
    shows(&["apt-cache"], "-nqf --names-only --quiet --full --installed --recurse --no-all-versions")
        .careful()
        .check(|parsed| matches!(parsed.literal(0), Some("search" | "show" | "policy" | "depends" | "rdepends" | "pkgnames" | "showpkg" | "stats")))
        .examples(&["apt-cache policy bash"], &["apt-cache gencaches", "apt-cache -o x=y show bash"]),
    shows(&["apt"], "-qa --installed --upgradable --all-versions --names-only --quiet --manual-installed")
        .careful()
        .check(|parsed| matches!(parsed.literal(0), Some("list" | "show" | "search" | "policy" | "depends" | "rdepends")))
        .examples(&["apt list --installed", "apt show bash"], &["apt install x", "apt list -o APT::Update::Pre-Invoke=x"]),
    shows(&["rpm"], "-qailfcdRvp --query --all --info --list --file --configfiles --docfiles --requires --provides --whatprovides= --changelog --last")
        .careful()
        .note("macros in formats run programs")
        .check(|parsed| {
            parsed.has(&["-q", "--query"])
                && parsed.operands.iter().all(|word| word.literal().is_some_and(|package| !package.contains(':')))
        })
        .examples(&["rpm -qa", "rpm -ql bash"], &["rpm -qp https://example.com/a.rpm", "rpm -i a.rpm", "rpm -qa --qf x", "rpm -q --pipe x bash"]),
    shows(&["pacman"], "-Qqilskeotdmnu --query --info --list --search --owns --explicit --quiet")
        .careful()
        .check(|parsed| parsed.has(&["-Q", "--query"]))
        .examples(&["pacman -Qi bash"], &["pacman -S x", "pacman -Rns x"]),
    shows(&["brew list", "brew leaves"], "-1lrt --versions --formula --cask --full-name --pinned").careful()
        .examples(&["brew list --versions", "brew leaves"], &["brew install x", "brew services start x"]),
    Program::acts(
        &["apt", "apt-get", "dpkg", "yum", "dnf", "pacman", "apk", "zypper", "snap", "flatpak", "rpm", "port", "nix", "nix-env"],
        &[Effect::Write, Effect::Network, Effect::State],
    )
    .examples(&["apt-get install -y jq", "dnf upgrade", "dpkg -i a.deb"], &["apt list", "rpm -qa"]),
    Program::acts(&["brew install", "brew uninstall", "brew upgrade", "brew update", "brew tap", "brew services", "brew cleanup", "brew info", "brew search"], &[Effect::Write, Effect::Network, Effect::State])
        .examples(&["brew install jq"], &["brew list"]),
    // Manuals and the environment.
    shows(&["man", "apropos", "whatis"], "-kf")
        .careful()
        .note("options name programs that show and format pages")
        .check(|parsed| (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(is_plain_name)))
        .examples(&["man ls", "man 5 crontab", "man -k socket"], &["man -P x ls", "man ./a", "man -H ls", "man \"$x\""]),
    shows(&["printenv"], "-0 --null")
        .careful()
        .note("names like KEY, TOKEN, SECRET or PASS hold secrets, and so does the whole environment")
        .check(|parsed| {
            !parsed.operands.is_empty()
                && (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(|name| !is_secret_variable(name)))
        })
        .examples(&["printenv HOME"], &["printenv", "printenv API_KEY", "printenv $x"]),
    Program::unknown(&["printenv"], &[Effect::Secret]).examples(&["printenv"], &["printenv HOME"]),
    // Other rights, other roots, other programs.
    Program::unknown(&["su", "pkexec", "runuser"], &[Effect::Privilege, Effect::ExecUnknown]).examples(&["su -c ls"], &[]),
    Program::unknown(
        &[
            "chroot", "unshare", "nsenter", "setarch", "setpriv", "systemd-run", "script", "scriptreplay", "parallel", "watch", "strace", "ltrace", "gdb",
            "lldb", "perf", "valgrind", "busybox", "toybox", "direnv", "devbox", "entr", "ts", "unbuffer", "expect", "caffeinate", "xvfb-run", "faketime",
            "screen", "tmux", "start-stop-daemon", "run-parts", "dbus-run-session", "firejail", "bwrap", "open", "xdg-open", "osascript",
        ],
        &[Effect::ExecUnknown],
    )
    .note("runs another command in ways that are not looked into")
    .examples(&["watch ls", "strace -f make", "parallel gzip"], &[]),
    Program::unknown(
        &["less", "more", "most", "view", "vim", "vi", "nvim", "emacs", "nano", "pico", "ed", "ex", "htop", "top", "btop", "fzf", "tig", "lazygit", "info", "dialog"],
        &[Effect::Read, Effect::Write, Effect::ExecUnknown],
    )
    .note("interactive: runs what is typed into it")
    .examples(&["less a", "vim a", "htop"], &[]),
];

fn is_one_word(word: &Word) -> bool {
    match word {
        Word::Literal(_) => true,
        Word::Dynamic(dynamic) => dynamic.one_word,
    }
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.' | b':')
        })
}

/// `ps e` shows what other processes have in their environment.
fn ps_hides_environments(parsed: &Parsed<'_>) -> bool {
    let columns = parsed
        .values(&["-o", "-O", "--format"])
        .all(|value| value.literal().is_some_and(|text| !text.contains("env")));
    // `-aux` is read as `aux` when there is no user `x`.
    let users = parsed.values(&["-u", "-U"]).all(|value| {
        value.literal().is_some_and(|text| !text.starts_with('x') || !text.contains('e'))
    });
    let operands = (0..parsed.operands.len()).all(|index| {
        parsed.literal(index).is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
                || text.bytes().all(|byte| b"auxfwljrvshLmTHcgnX".contains(&byte))
        })
    });
    columns && users && operands
}

/// `ip OBJECT [show …]`.
fn ip_shows(parsed: &Parsed<'_>) -> bool {
    let literal = (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some());
    let object = match parsed.literal(0) {
        None => return parsed.operands.is_empty(),
        Some(
            "a" | "addr" | "address" | "l" | "link" | "r" | "route" | "n" | "neigh" | "neighbor"
            | "rule" | "maddr" | "tunnel" | "mroute",
        ) => true,
        Some(_) => false,
    };
    literal
        && object
        && matches!(parsed.literal(1), None | Some("show" | "list" | "ls" | "sh" | "get"))
}
