//! Where secrets usually lie, and variables that usually hold one.

/// Directories and files, as runs of path components in lower case, whose contents are secret wherever they lie.
const PLACES: &[&[&str]] = &[
    // Keys and password stores.
    &[".ssh"],
    &[".gnupg"],
    &[".password-store"],
    &[".local", "share", "keyrings"],
    &["library", "keychains"],
    &["etc", "shadow"],
    &["etc", "gshadow"],
    &[".htpasswd"],
    // Clouds and clusters.
    &[".aws"],
    &[".azure"],
    &[".boto"],
    &[".s3cfg"],
    &[".config", "gcloud"],
    &[".config", "doctl"],
    &[".config", "rclone"],
    &[".kube", "config"],
    &["kubernetes", "admin.conf"],
    &[".terraform.d", "credentials.tfrc.json"],
    &[".vault-token"],
    &[".docker", "config.json"],
    &["containers", "auth.json"],
    // Code hosts, package registries, databases.
    &[".netrc"],
    &["_netrc"],
    &[".git-credentials"],
    &[".config", "gh"],
    &[".config", "glab-cli"],
    &[".config", "hub"],
    &[".npmrc"],
    &[".pypirc"],
    &[".config", "pypoetry", "auth.toml"],
    &[".cargo", "credentials"],
    &[".cargo", "credentials.toml"],
    &[".gem", "credentials"],
    &[".pgpass"],
    &[".my.cnf"],
    &[".mylogin.cnf"],
    // Browsers.
    &[".mozilla"],
    &[".config", "google-chrome"],
    &[".config", "chromium"],
    &[".config", "bravesoftware"],
    &[".config", "microsoft-edge"],
    &["google", "chrome"],
    &["application support", "firefox"],
    &["firefox", "profiles"],
];

const KEY_FILES: &[&str] = &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "credentials.json"];
const KEY_EXTENSIONS: &[&str] =
    &["pem", "key", "p12", "pfx", "ppk", "jks", "keystore", "kdbx", "keytab"];
const HARMLESS_ENV_FILES: &[&str] = &["example", "sample", "template"];
#[cfg(feature = "analyzer")]
const SECRET_WORDS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"];

/// Whether what lies at `path` is likely a secret, by its names alone: keys, tokens, `.env`, password stores.
///
/// The path may be relative, begin with `~`, and hold patterns of a shell or pieces that are not known: those do not count
/// by themselves, but the names around them do. Case does not count, since not every disk tells it apart. This is the
/// only list: readers of files ask it too.
pub fn is_secret_path(path: &str) -> bool {
    let path = &path.to_ascii_lowercase();
    let components: Vec<&str> =
        path.split('/').filter(|component| !component.is_empty() && *component != ".").collect();
    // Most paths hold no pattern, and then names are just compared.
    let is: fn(&str, &str) -> bool =
        if path.contains(['*', '?', '[']) { may_be } else { |component, name| component == name };
    let starts_place = |at: usize| {
        let rest = components.get(at..).unwrap_or_default();
        PLACES.iter().any(|place| {
            place.len() <= rest.len()
                && rest.iter().zip(*place).all(|(component, name)| is(component, name))
        })
    };
    (0..components.len()).any(starts_place)
        || components.first() == Some(&"proc") && components.last() == Some(&"environ")
        || components.last().is_some_and(|name| is_secret_file(name))
}

fn is_secret_file(name: &str) -> bool {
    if KEY_FILES.iter().any(|file| may_be(name, file)) || may_be(name, ".env") {
        return true;
    }
    let is_key = match name.rsplit_once('.') {
        Some((_, extension)) => KEY_EXTENSIONS.contains(&extension),
        // `deploy_key`, `ssh_host_rsa_key`, and not the variable `$deploy_key`
        None => (name.ends_with("_key") || name.ends_with("-key")) && !name.contains('$'),
    };
    if is_key {
        return true;
    }
    match name.strip_prefix(".env") {
        Some(rest) if rest.is_empty() || rest.starts_with(['*', '?', '[']) => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|rest| {
            !rest.rsplit('.').next().is_some_and(|last| HARMLESS_ENV_FILES.contains(&last))
        }),
        None => false,
    }
}

/// Whether a path component, which may be a pattern, can name `name`; a pattern without any plain character does not count.
fn may_be(component: &str, name: &str) -> bool {
    if !component.contains(['*', '?', '[']) {
        return component == name;
    }
    let has_plain =
        component.contains(|character| !matches!(character, '*' | '?' | '[' | ']' | '.'));
    let hidden = name.starts_with('.') && !component.starts_with('.');
    let pattern: Vec<char> = component.chars().collect();
    let text: Vec<char> = name.chars().collect();
    has_plain && !hidden && matches(&pattern, &text)
}

/// Shell pattern matching; a bracket expression matches any character.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let mut reached = vec![true];
    reached.resize(text.len() + 1, false);
    let mut rest = pattern.iter();
    while let Some(character) = rest.next() {
        let any = matches!(character, '?' | '[');
        if *character == '[' {
            rest.by_ref().find(|character| **character == ']');
        }
        let mut next = Vec::with_capacity(reached.len());
        let mut before = false;
        for (index, here) in reached.iter().enumerate() {
            if *character == '*' {
                before |= *here;
                next.push(before);
            } else {
                let fits = index
                    .checked_sub(1)
                    .and_then(|index| text.get(index))
                    .is_some_and(|found| any || found == character);
                next.push(before && fits);
                before = *here;
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// Whether a variable of this name usually holds a secret.
#[cfg(feature = "analyzer")]
pub(crate) fn is_secret_variable(name: &str) -> bool {
    SECRET_WORDS.iter().any(|word| name.contains(word))
}
