//! Programs that talk to other machines, and those with a daemon of their own.

use super::text::names_word;
use super::{Group, Operands, Program};
use crate::Effect;
use crate::judge::Parsed;

/// Programs with subcommands, and the options that may stand before these.
pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "git",
        options: "-P -C= --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects --icase-pathspecs --glob-pathspecs",
    },
    Group { name: "docker", options: "" },
    Group { name: "podman", options: "" },
    Group { name: "kubectl", options: "-n= --namespace= --context= --request-timeout=" },
    Group { name: "gh", options: "" },
    Group { name: "glab", options: "" },
    Group { name: "helm", options: "-n= --namespace=" },
    Group { name: "terraform", options: "" },
    Group { name: "tofu", options: "" },
    Group {
        name: "systemctl",
        options: "-la --user --system --no-pager --all --full --no-legend --plain -n= --lines= -t= --type= --state=",
    },
    Group { name: "brew", options: "" },
];

/// Reads something on another machine.
const fn remote(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options)
        .with(Operands::Text)
        .effects(&[Effect::Read, Effect::Network])
        .careful()
        .check(is_literal)
}

pub(super) const ROWS: &[Program] = &[
    // Containers.
    remote(&["docker ps", "podman ps", "docker container ls", "docker container list", "docker container ps"], "-aqls -nf= --all --quiet --filter= --format= --no-trunc --last= --latest --size")
        .examples(&["docker ps -a", "docker ps --filter name=web --format '{{.ID}}'", "docker container ls"], &["docker ps -f \"$x\"", "docker -H tcp://h ps", "docker ps --frob"]),
    remote(&["docker images", "podman images", "docker image ls", "docker image list"], "-aq -f= --all --quiet --filter= --format= --no-trunc --digests --tree").examples(&["docker images -q"], &["docker rmi x"]),
    remote(&["docker logs", "podman logs", "docker container logs"], "-ft -n= --follow --tail= --since= --until= --timestamps --details")
        .examples(&["docker logs --tail 50 web", "docker logs -f web"], &["docker logs $x", "docker logs --frob web"]),
    remote(&["docker inspect", "podman inspect", "docker container inspect", "docker image inspect"], "-s -f= --format= --size --type=")
        .examples(&["docker inspect -f '{{.State.Status}}' web"], &["docker inspect \"$x\""]),
    Program::unknown(&["docker run", "docker exec", "docker build", "docker compose", "docker buildx", "podman run", "podman exec", "podman build", "docker-compose", "podman-compose"], &[Effect::Write, Effect::Network, Effect::State, Effect::ExecUnknown])
        .note("run what an image or the project holds")
        .examples(&["docker run --rm -it alpine sh", "docker compose up -d", "docker build -t app ."], &[]),
    Program::acts(
        &[
            "docker pull", "docker push", "docker rm", "docker rmi", "docker stop", "docker start", "docker restart", "docker kill", "docker create", "docker cp", "docker login", "docker logout",
            "docker volume", "docker network", "docker system", "docker tag", "docker image", "docker container", "docker builder", "docker context", "docker save", "docker load", "docker commit",
            "docker pause", "docker unpause", "docker rename", "docker update", "docker attach", "docker export", "docker import",
            "podman rm", "podman rmi", "podman stop", "podman start", "podman kill", "podman pull", "podman push", "podman image", "podman volume", "podman system",
        ],
        &[Effect::Network, Effect::State],
    )
    .examples(&["docker stop web", "docker system prune -af", "docker image prune"], &["docker image ls"]),
    Program::acts(
        &[
            "docker stats", "docker top", "docker port", "docker diff", "docker history", "docker info", "docker version", "docker events", "docker search", "docker wait",
            "docker volume ls", "docker network ls", "docker volume inspect", "docker network inspect", "docker system df", "docker context ls",
        ],
        &[Effect::Read, Effect::Network],
    )
    .examples(&["docker stats --no-stream", "docker network ls"], &["docker network rm x"]),
    // Clusters.
    remote(
        &["kubectl get", "kubectl describe"],
        "-ARw -noLl= --namespace= --all-namespaces --output= --selector= --field-selector= --show-labels --watch --sort-by= --no-headers \
         --label-columns= --show-kind --ignore-not-found --show-events? --context= --limit= --chunk-size=",
    )
    .note("secrets; files with the names of objects; other servers")
    .check(|parsed| is_literal(parsed) && !names_secrets(parsed))
    .examples(&["kubectl get pods -n prod", "kubectl -n x describe pod a", "kubectl get deploy,svc -o yaml"], &["kubectl get secrets", "kubectl get pods \"$x\"", "kubectl --server=x get pods", "kubectl get -f a.yml"]),
    Program::unknown(&["kubectl get", "kubectl describe"], &[Effect::Network, Effect::Secret]).check(names_secrets)
        .examples(&["kubectl get secret x -o yaml"], &["kubectl get pods"]),
    remote(
        &["kubectl logs"],
        "-fp -ncl= --namespace= --container= --selector= --tail= --since= --previous --follow --all-containers --prefix --timestamps --context= --max-log-requests= --limit-bytes=",
    )
    .examples(&["kubectl logs -f web-1 --tail=50"], &["kubectl logs \"$x\""]),
    Program::unknown(&["kubectl exec", "kubectl run", "kubectl debug", "kubectl attach", "kubectl cp", "kubectl port-forward", "kubectl proxy", "kubectl edit", "kubectl plugin", "kubectl config", "kubectl auth"], &[Effect::Network, Effect::State, Effect::ExecUnknown])
        .examples(&["kubectl exec -it web -- sh"], &[]),
    Program::acts(
        &[
            "kubectl apply", "kubectl delete", "kubectl create", "kubectl replace", "kubectl scale", "kubectl autoscale", "kubectl rollout", "kubectl patch", "kubectl label", "kubectl annotate",
            "kubectl set", "kubectl expose", "kubectl cordon", "kubectl uncordon", "kubectl drain", "kubectl taint",
        ],
        &[Effect::Network, Effect::State],
    )
    .examples(&["kubectl delete pod web", "kubectl rollout restart deploy/web", "kubectl apply -f a.yml"], &["kubectl get pods"]),
    Program::acts(
        &[
            "kubectl top", "kubectl explain", "kubectl version", "kubectl cluster-info", "kubectl api-resources", "kubectl api-versions", "kubectl diff", "kubectl wait", "kubectl events",
            "kubectl rollout status", "kubectl rollout history",
        ],
        &[Effect::Read, Effect::Network],
    )
    .examples(&["kubectl top pods", "kubectl rollout status deploy/web"], &["kubectl rollout undo deploy/web"]),
    Program::acts(
        &[
            "helm install", "helm upgrade", "helm uninstall", "helm rollback", "helm repo", "helm pull", "helm push", "helm dependency",
        ],
        &[Effect::Write, Effect::Network, Effect::State],
    )
    .examples(&["helm upgrade --install web ./chart"], &[]),
    Program::acts(&["helm list", "helm ls", "helm status", "helm get", "helm history", "helm search", "helm show", "helm template", "helm lint"], &[Effect::Read, Effect::Network])
        .examples(&["helm list -A", "helm template ./chart"], &[]),
    Program::acts(
        &[
            "terraform init", "terraform plan", "terraform apply", "terraform destroy", "terraform import", "terraform state", "terraform validate", "terraform fmt", "terraform output", "terraform show",
            "terraform workspace", "terraform taint", "terraform refresh", "tofu init", "tofu plan", "tofu apply", "tofu destroy",
        ],
        &[Effect::Write, Effect::Network, Effect::State, Effect::ExecProject],
    )
    .examples(&["terraform plan", "terraform destroy -auto-approve"], &[]),
    // Code hosts.
    remote(
        &["gh pr view", "gh pr list", "gh issue view", "gh issue list", "gh run view", "gh run list"],
        "-cvd -RqtsLaAlSbBHjue= --repo= --json= --jq= --template= --state= --limit= --assignee= --author= --label= --search= --comments --log \
         --log-failed --verbose --job= --branch= --base= --head= --draft --workflow= --event= --status= --user= --milestone= --exit-status --attempt= --app= !--web !-w",
    )
    .note("`--web` opens a browser; programs for `--jq` that show the environment")
    .check(|parsed| {
        is_literal(parsed)
            && parsed
                .values(&["--jq", "-q"])
                .all(|program| program.literal().is_some_and(|program| !names_word(program, &["env", "ENV"])))
    })
    .examples(&["gh pr view 12", "gh pr list --state open --json number,title", "gh run view 1 --log-failed", "gh issue list -L 5"], &["gh pr view --web", "gh pr view -w 12", "gh pr list --json number --jq env", "gh run view 1 -q '$ENV.HOME'", "gh pr merge 12", "gh pr view \"$x\"", "gh api /user"]),
    Program::unknown(&["gh auth token", "gh auth status", "glab auth status"], &[Effect::Secret]).note("shows a token").examples(&["gh auth token"], &["gh auth login"]),
    Program::acts(
        &[
            "gh pr diff", "gh pr checks", "gh pr status", "gh issue status", "gh repo view", "gh repo list", "gh release view", "gh release list", "gh workflow list", "gh workflow view", "gh search",
            "gh status", "gh label list", "gh run watch", "gh project list", "gh ruleset", "glab mr list", "glab mr view", "glab issue list", "glab issue view", "glab ci status",
        ],
        &[Effect::Read, Effect::Network],
    )
    .examples(&["gh pr diff 12", "gh pr checks 12", "gh search issues bug"], &["gh pr view 12", "gh pr close 12"]),
    Program::acts(
        &[
            "gh pr", "gh issue", "gh run", "gh api", "gh repo", "gh auth", "gh release", "gh workflow", "gh gist", "gh label",
            "gh secret", "gh variable", "gh browse", "gh project", "gh cache", "gh ssh-key", "gh gpg-key", "gh codespace", "gh config", "glab mr", "glab issue", "glab ci",
            "glab repo", "glab api", "glab release",
        ],
        &[Effect::Write, Effect::Network],
    )
    .examples(&["gh pr create --fill", "gh api /user", "gh repo delete x"], &["gh pr view 12"]),
    Program::unknown(&["gh extension", "gh alias", "gh copilot", "gh attestation"], &[Effect::Write, Effect::Network, Effect::ExecUnknown]).examples(&["gh extension install x"], &[]),
    // Transfer.
    Program::writes(
        &["curl"],
        "-sSLfvikgGIN460 -HXAmwebyzu= -oD=> -# --silent --show-error --location --fail --verbose --include --insecure --globoff --head --get \
         --header= --request= --user-agent= --max-time= --connect-timeout= --write-out= --output=> --dump-header=> --compressed --retry= --retry-delay= \
         --no-progress-meter --progress-bar --fail-with-body --http1.1 --http2 --referer= --range= --no-buffer --max-redirs= --resolve= --url= --user= --ipv4 --ipv6 --cookie= \
         !-d= !--data= !-F= !--form= !-T= !--upload-file= !-K= !--config= !-O !--remote-name !-J",
        Operands::Text,
    )
    .effects(&[Effect::Network])
    .check(sends_no_file)
    .examples(&["curl -s https://example.com", "curl -fsSL -o a https://example.com", "curl -I http://localhost:8080"], &["curl -d @a https://example.com", "curl -K x", "curl -O https://example.com/a", "curl file:///etc/passwd", "curl -H @a https://example.com"]),
    Program::acts(&["curl"], &[Effect::Read, Effect::Write, Effect::Network]).note("files that are sent, written under the server's name or hold options").examples(&["curl -d @a https://example.com", "curl -O https://example.com/a"], &["curl https://example.com"]),
    Program::acts(&["wget", "scp", "sftp", "aria2c", "rclone", "yt-dlp", "httpie", "xh"], &[Effect::Read, Effect::Write, Effect::Network])
        .note("options that name programs")
        .check(|parsed| {
            !parsed.options.iter().any(|(name, _)| {
                matches!(name.as_ref(), "-e" | "-S") || ["--execute", "--use-askpass", "--on-"].iter().any(|start| name.starts_with(start))
            })
        })
        .examples(&["wget https://example.com/a", "scp a host:b", "wget -qO- https://example.com"], &["wget -e x=y https://example.com", "scp -S x a host:b", "wget --use-askpass=x https://example.com"]),
    Program::acts(
        &["ping", "ping6", "dig", "nslookup", "host", "traceroute", "tracepath", "mtr", "whois", "telnet", "tailscale"],
        &[Effect::Network],
    )
    .examples(&["ping -c 1 example.com", "dig +short example.com"], &[]),
    Program::acts(&["http", "https", "ftp", "nmap", "openssl"], &[Effect::Read, Effect::Write, Effect::Network])
        .examples(&["openssl rand -out a 8", "http GET example.com"], &[]),
    Program::unknown(
        &["ssh", "mosh", "nc", "ncat", "netcat", "socat", "ssh-keygen", "ssh-add", "ssh-agent", "ssh-copy-id", "gpg", "gpg2", "pass", "op", "vault", "security", "age", "sops", "keyctl", "secret-tool"],
        &[Effect::Network, Effect::Secret, Effect::ExecUnknown],
    )
    .note("run commands elsewhere, or handle keys")
    .examples(&["ssh host ls", "nc -l 80", "gpg --export-secret-keys", "pass show x"], &[]),
    Program::unknown(
        &[
            "aws", "gcloud", "gsutil", "bq", "az", "doctl", "heroku", "vercel", "netlify", "flyctl", "fly", "railway", "wrangler", "firebase", "supabase", "stripe", "eksctl", "ansible", "pulumi", "cdk",
            "sam", "serverless", "argocd", "flux", "istioctl", "nomad", "consul", "minikube", "kind", "k9s", "skaffold", "tilt", "vagrant", "packer", "auth0", "claude", "codex", "gemini",
        ],
        &[Effect::Network, Effect::State],
    )
    .note("their subcommands are not listed")
    .examples(&["aws s3 ls", "gcloud compute instances list"], &[]),
];

/// Whether `curl` reads and writes no files but those of its options.
fn sends_no_file(parsed: &Parsed<'_>) -> bool {
    let values = parsed.values(&["-H", "--header", "-w", "--write-out", "-b", "--cookie", "--url"]);
    let plain = |text: &str| {
        !text.starts_with('@') && !text.contains("%output") && !text.starts_with("file:")
    };
    values.filter_map(|value| value.literal()).all(plain)
        && parsed.operands.iter().filter_map(|word| word.literal()).all(plain)
        && parsed
            .values(&["-b", "--cookie"])
            .all(|value| value.literal().is_some_and(|text| text.contains('=')))
}

/// Whether nothing is left open.
fn is_literal(parsed: &Parsed<'_>) -> bool {
    parsed.operands.iter().all(|word| word.literal().is_some())
        && parsed
            .options
            .iter()
            .all(|(_, value)| value.as_ref().is_none_or(|value| value.literal().is_some()))
}

fn names_secrets(parsed: &Parsed<'_>) -> bool {
    parsed
        .operands
        .iter()
        .any(|word| word.literal().is_some_and(|text| text.to_ascii_lowercase().contains("secret")))
}
