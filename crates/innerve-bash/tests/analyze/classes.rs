//! Classes and effects of single commands.

use innerve_bash::{Class, Effect, analyze, analyze_in};

#[track_caller]
fn check(class: Class, texts: &[&str]) {
    for text in texts {
        let analysis = analyze(text);
        assert_eq!(
            analysis.class(),
            class,
            "{text:?}: {:?} {:?}",
            analysis.opaque(),
            analysis.commands()
        );
    }
}

#[track_caller]
fn check_effects(text: &str, class: Class, effects: &str) {
    let analysis = analyze(text);
    let names: Vec<&str> = analysis.effects().iter().map(Effect::name).collect();
    assert_eq!(
        (analysis.class(), names.join(" ").as_str()),
        (class, effects),
        "{text:?}: {:?}",
        analysis.opaque()
    );
}

#[test]
fn everyday_reads_are_free() {
    check(
        Class::ReadOnly,
        &[
            "ls -la src *.rs",
            "cat -n \"$f\" src/*.py",
            "head -20 a | tail -n +3",
            "grep -rn --include='*.rs' -A3 'x|y' .",
            "rg -n --type rust foo src | head -50",
            "find . -name '*.rs' -not -path './target/*' -type f | xargs wc -l | sort -rn",
            "find . -name '*.py' -exec grep -l foo {} +",
            "sed -n '10,40p;/x/,$p' f",
            "sed -E -e 's/a+/b/g' -e '/^$/d' f",
            "awk -F: '$3 > 100 && /x/ {print $1, $NF; n++} END {print n/2}' f",
            "jq -r '.a[] | .b' f",
            "git status && git diff HEAD~1 -- src && git log --oneline -5 --format='%h %s'",
            "git branch -a; git tag -l 'v*'; git remote -v; git stash list; git config --get user.name",
            "cd src && ls && pwd",
            "date +%s; date -u '+%Y-%m-%d'; uname -a; whoami; nproc",
            "ps aux | grep node; ps -ef; ps -o pid,cmd -p 1",
            "diff -u a b; cmp a b; wc -l a; du -sh .; df -h; stat a; file a; tree -L 2",
            "test -f a && echo yes || echo no",
            "[[ -n $x ]] && echo set",
            "for f in *.rs; do wc -l \"$f\"; done",
            "x=$(pwd); echo $x",
            "LC_ALL=C sort a",
            "name=value ls",
            "FOO=1 echo x",
            "FOO=1; echo $FOO",
            "export FOO=bar; echo $FOO",
            "ls > /dev/null 2>&1",
            "tar -tzf a.tgz; tar tzf a.tgz; unzip -l a.zip; zcat a.gz",
            "cargo --version; node -v; python3 --version",
            "time -p git status; timeout 5 ls; nice ls; env LC_ALL=C ls; sh -c 'git status'; bash -lc 'ls | head'",
            "/bin/ls; /usr/bin/cat a",
            "printenv HOME; command -v cargo; which cargo; type ls",
            "tr a-z A-Z < a",
            "set -euo pipefail; ls | head",
            "f() { ls \"$1\"; }; f src; f lib | head",
            "for f in src/a.txt src/*.rs; do sed -n 1,5p \"$f\"; done",
            "for f in a.rs b.rs; do sed -n 1,5p $f; sort $f; done",
            "d=src; find \"$d\" -name '*.rs'; git log -- \"$d/lib.rs\"",
        ],
    );
    check_effects("docker ps -a", Class::ReadOnly, "read network");
    check_effects("kubectl -n prod get pods -o wide", Class::ReadOnly, "read network");
    check_effects("gh pr view 12 --json title", Class::ReadOnly, "read network");
}

#[test]
fn neutral_alone_is_not_worth_running_beside_others() {
    assert!(!analyze("echo x; true").is_concurrency_safe());
    assert!(analyze("echo x; ls").is_concurrency_safe());
    assert!(!analyze("ls; touch x").is_concurrency_safe());
    assert!(!analyze("eval ls").is_concurrency_safe());
}

#[test]
fn writers_are_known() {
    check_effects("rm -rf a", Class::Write, "delete");
    check_effects("mkdir a", Class::Write, "write");
    check_effects("mv a b", Class::Write, "read write delete");
    check_effects("ls > a", Class::Write, "read write");
    check_effects("echo x >> a", Class::Write, "write");
    check_effects("kill 1", Class::Write, "state");
    check_effects("make all", Class::Write, "write exec_project");
    check_effects("npm test", Class::Write, "write exec_project");
    check_effects("python3 a.py", Class::Write, "exec_project");
    check_effects("curl -s https://example.com", Class::Write, "network");
    check_effects("sudo ls", Class::Write, "read privilege");
    check_effects("FOO=1 rm a", Class::Write, "delete");
    check_effects("timeout 5 touch a", Class::Write, "write");
    check_effects("find . -exec rm {} \\;", Class::Write, "read delete");
    check_effects("ls | xargs touch", Class::Write, "read write");
    assert!(analyze("FOO=1 timeout 5 rm -rf \"$d\"").is_complete());
    assert!(!analyze("git commit -m x").is_complete());
}

#[test]
fn what_is_not_known_is_unknown() {
    check(
        Class::Unknown,
        &[
            "frobnicate",
            "./ls",
            "../bin/cat x",
            "cat --zz a",
            "FOO=1 ls",
            "FOO=1",
            "FOO=1; ls",
            "export FOO=1; make",
            "for x in 1 2; do ls; FOO=1; echo y; done",
            "python3 -c 'x'",
            "python3",
            "node -e x",
            "perl -pi -e s/a/b/ f",
            "ssh host ls",
            "git -C /x status",
            "git -C .. status",
            "git -C \"$x\" status",
            "git -C sub -C ../.. status",
            "git -c core.pager=x log",
            "git frob",
            "docker run x",
            "f; f() { ls; }",
            "f() { f; }; f",
            "true && f() { ls; }; f",
            "(f() { ls; }); f",
            "f() { ls; } & f",
            "f() { ls; }; timeout 5 f",
            "f() { ls; }; command f",
            "f() { ls; }; FOO=1 f",
            "f() { ls; }; FOO=1; f",
            "f() { cat \"$1\"; }; f .env",
            "jobs -x rm x",
            "'git status'",
            "timeout 5 read x",
            "for f in *.rs; do sort \"$f\"; done",
            "for f in src/*.rs; do sort $f; done",
            "f=a; sort \"$f\"; f=-ob",
            "f=a; sort \"$f\"; read f",
            "f=a; env f=-ob sh -c 'sort \"$f\"'",
            "(f=a); sort \"$f-ob\"",
            "f=; sort \"$f-ob\"",
            "f=a; awk -F $f '{print}' 'BEGIN{system(1)}'",
            "f=$(x); sort \"$f\"",
            "ls > /dev/sda",
            "cat < /dev/tcp/1.2.3.4/80",
            "echo x > /dev/tcp/1.2.3.4/80",
            "cat < \"/dev/tcp/$h/80\"",
        ],
    );
}

#[test]
fn one_option_makes_the_difference() {
    for (free, stopped) in [
        ("sort a", "sort -o b a"),
        ("sort a", "sort --compress-program=x a"),
        ("sort a", "sort *.txt"),
        ("sort \"a$x\"", "sort \"$x\""),
        ("uniq a", "uniq a b"),
        ("uniq \"$a\"", "uniq $a"),
        ("xxd a", "xxd -r a b"),
        ("xxd -p a", "xxd -ps a b"),
        ("sed -n p a", "sed -n 'w b' a"),
        ("sed s/a/b/ a", "sed s/a/b/e a"),
        ("sed s/a/b/ a", "sed s/a/b/w\\ b a"),
        ("sed s/a/b/ a", "sed -i s/a/b/ a"),
        ("sed -n 1p a", "sed -n \"$x\" a"),
        ("sed -n 1p a", "sed --in-place 1p a"),
        ("awk '{print}' a", "awk '{print > \"b\"}' a"),
        ("awk '{print}' a", "awk '{system(\"x\")}' a"),
        ("awk '{print}' a", "awk '{print | \"x\"}' a"),
        ("awk '{print}' a", "awk 'BEGIN {\"x\" | getline}' a"),
        ("awk '{print}' a", "awk 'i++ / system(\"x\") / 1' a"),
        ("awk '{print}' a", "awk '{if (x) /\"/; system(\"y\"); /\"/}' a"),
        ("awk '{print}' a", "awk -f b a"),
        ("awk '{print $1}' a", "awk '{print ENVIRON[\"X\"]}' a"),
        ("jq .a b", "jq env b"),
        ("find . -name x", "find . -delete"),
        ("find . -name x", "find . -fprint a"),
        ("find . -name x", "find . -exec rm {} +"),
        ("find . -name x", "find *.d -name x"),
        ("rg x", "rg --pre y x"),
        ("rg x", "rg -T --pre y x"),
        ("rg x", "rg --hostname-bin y x"),
        ("fd x", "fd -x rm"),
        ("file a", "file -m b a"),
        ("file a", "file -C -m b"),
        ("tree", "tree -o a"),
        ("date +%s", "date -s now"),
        ("date +%s", "date 010203"),
        ("hostname", "hostname x"),
        ("ps aux", "ps auxe"),
        ("ps -aux", "ps -auxe"),
        ("tar -tf a", "tar -xf a"),
        ("tar -tf a", "tar -tf a --to-command=x"),
        ("tar -tf a", "tar -tf host:a"),
        ("unzip -l a", "unzip a"),
        ("xz -dc a", "xz -ld a"),
        ("gunzip -c a", "gunzip a"),
        ("ip addr", "ip link set eth0 down"),
        ("ip addr", "ip -b f"),
        ("dmesg", "dmesg -c"),
        ("journalctl -u x", "journalctl --vacuum-size=1M"),
        ("git diff", "git diff --output=a"),
        ("git diff", "git diff --ext-diff"),
        ("git diff", "git diff $x"),
        ("git log -p", "git log \"$x\""),
        ("git log", "git log --format=%G?"),
        ("git grep x", "git grep -Oless x"),
        ("git branch", "git branch new"),
        ("git branch --list x", "git branch -D x"),
        ("git tag", "git tag v1"),
        ("git remote", "git remote add a b"),
        ("git remote -v", "git remote -v update"),
        ("git stash list", "git stash"),
        ("git reflog", "git reflog expire --all"),
        ("git config user.name", "git config user.name me"),
        ("git config --list", "git config --unset a.b"),
        ("docker ps", "docker ps -f \"$x\""),
        ("docker ps", "docker -H tcp://h ps"),
        ("kubectl get pods", "kubectl get secrets"),
        ("kubectl get pods", "kubectl delete pod x"),
        ("npm ls", "npm install"),
        ("go env", "go env -w A=1"),
        ("printenv HOME", "printenv"),
        ("man ls", "man -P x ls"),
        ("cat a", "cat a | tee b"),
        ("xargs cat", "xargs sort"),
        ("yes", "yarn"),
    ] {
        assert!(analyze(free).class() <= Class::ReadOnly, "{free:?}: {:?}", analyze(free));
        assert!(analyze(stopped).class() > Class::ReadOnly, "{stopped:?}: {:?}", analyze(stopped));
    }
}

#[test]
fn secrets_are_seen() {
    for text in [
        "cat ~/.ssh/id_ed25519",
        "cat \"$HOME/.aws/credentials\"",
        "cat /home/me/.netrc",
        "cat .env",
        "cat $DIR/.env.local",
        "head -1 server.pem",
        "grep x tls/private.key",
        "cat < ~/.git-credentials",
        "cat .pypirc ~/.pgpass",
        "cat ~/.config/gcloud/credentials.db",
        "head ~/.docker/config.json",
        "cat /etc/kubernetes/admin.conf",
        "cat deploy-key",
        "cat /etc/ssh/ssh_host_rsa_key",
        "cat ~/.cargo/credentials.toml",
        "cat ~/.npmrc",
        "cat .env?",
        "strings ~/Library/Keychains/login.keychain-db",
        "base64 server.p12",
        "cat //etc/./shadow",
        "cat /e??/shadow",
        "cat /proc/self/environ",
        "cat {a,.env}",
        "cat .e*",
        "cp .env /tmp/x",
        "cd ~/.ssh && cat config",
        "git show HEAD:.env",
        "for f in a .env; do cat \"$f\"; done",
        "f=~/.aws; cat $f/credentials",
        "sh -c 'cat \"$1\"' x .env",
        "find . -name id_rsa -exec cat {} +",
        "while read -r l; do echo $l; done < .env",
        "env",
        "printenv",
        "printenv API_KEY",
        "export -p",
        "set",
        "gh auth token",
        "kubectl get secret x",
        "echo $API_TOKEN",
        "echo \"${DB_PASSWORD:-x}\"",
        "cat <<X\n$SECRET\nX",
    ] {
        let analysis = analyze(text);
        assert!(analysis.effects().contains(Effect::Secret), "{text:?}: {analysis:?}");
        assert_eq!(analysis.class(), Class::Unknown, "{text:?}");
    }
    check(
        Class::ReadOnly,
        &[
            "cat .env.example",
            "ls ~/.ssh",
            "test -f .env && ls",
            "find ~ -name id_rsa",
            "grep -r password .",
            "cat environment",
            "cat src/hot_key.rs api-key.ts docker/config.json",
            "cat .envoy.yml",
            "echo $HOME; ls",
        ],
    );
}

#[test]
fn git_in_another_directory_asks() {
    check(
        Class::ReadOnly,
        &[
            "cd sub && git status",
            "cd ./a/../b && git status",
            "cd \"$PWD\" && git status",
            "cd \"$PWD/sub\" && git status",
            "git -C . log",
            "git -C sub log",
            "cd . && git log",
        ],
    );
    check(Class::Unknown, &["cd $PWD/sub && git status", "cd .. && git -C sub status"]);
    check(
        Class::Unknown,
        &["cd .. && git status", "cd /x && git status", "cd \"$d\" && git status"],
    );
    assert_eq!(analyze_in("cd /repo/sub && git status", Some("/repo")).class(), Class::ReadOnly);
    assert_eq!(analyze_in("cd /repo2 && git status", Some("/repo")).class(), Class::Unknown);
    assert_eq!(analyze_in("cd /repo/../x && git status", Some("/repo")).class(), Class::Unknown);
}

#[test]
fn a_read_that_may_be_a_connection_is_not_free() {
    check(
        Class::Unknown,
        &[
            "cat < /dev/tcp/example.com/80",
            "p=/dev/tcp/example.com/80; echo \"$x\" < \"$p\" >&0",
            "p=/dev; cat < $p/tcp/example.com/80",
            "p=/de; q=v/tcp/h/80; cat < \"$p$q\"",
            "p=a; p+=/dev/tcp/h/1; cat < $p",
            "cat < /dev/tc$x/h/80",
            "cat < \"$1\"",
            "cat < \"$(cat a)\"",
            "cat < ${PWD}dev/tcp/h/80",
            "while read -r f; do wc -l < \"$f\"; done < a",
            "for p in a /dev/udp/h/53; do cat < $p; done",
            "for i in 1 2; do cat < \"$p\"; p=/dev/tcp/h/80; done",
            "{ cat; } < \"$1\"",
            "for i in 1 2; do cat \"$p\"; p=~/.ssh/id_rsa; done",
        ],
    );
    check(
        Class::ReadOnly,
        &[
            "wc -l < \"$f\"",
            "for f in *.txt; do wc -l < \"$f\"; done",
            "for f in src/*; do wc -l < $f; done",
            "f=a.txt; while read -r line; do echo \"$line\"; done < \"$f\"",
            "d=src; cat < \"$d/a.txt\"",
            "cat < ~/a.txt; cat < \"$HOME/a\"; cat < \"$PWD/a\"; cat < /etc/os-release",
        ],
    );
}

#[test]
fn a_loop_over_a_variable_of_programs_is_not_free() {
    check(
        Class::Unknown,
        &[
            "for XDG_CONFIG_HOME in a; do git status; done",
            "for RUSTUP_TOOLCHAIN in a; do cargo --version; done",
        ],
    );
    check(Class::ReadOnly, &["for FILE in a b; do wc -l \"$FILE\"; done"]);
}

#[test]
fn what_runs_in_another_directory_is_judged_there() {
    check(
        Class::Unknown,
        &[
            "fd --base-directory ../x . -x git log -1 -- {}",
            "fd -HC ../x . -x git log -1 -- {}",
            "env -C ../x git status",
            "find ../x -execdir git status \\;",
        ],
    );
    check(Class::ReadOnly, &["fd . -x git log -1 -- {}"]);
}
