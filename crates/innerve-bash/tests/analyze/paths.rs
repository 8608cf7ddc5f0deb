//! Files that are read, written and removed, joined to the simulated directory.

use innerve_bash::{Analysis, Command, analyze, analyze_in};

fn paths(analysis: &Analysis, of: fn(&Command) -> &Vec<Option<String>>) -> String {
    let all: Vec<&str> = analysis
        .commands()
        .iter()
        .flat_map(of)
        .map(|path| path.as_deref().unwrap_or("?"))
        .collect();
    all.join(" ")
}

#[track_caller]
fn check(text: &str, reads: &str, writes: &str, deletes: &str) {
    let analysis = analyze(text);
    assert_eq!(analysis.opaque(), None, "{text}");
    assert_eq!(paths(&analysis, |command| &command.reads), reads, "reads of {text}");
    assert_eq!(paths(&analysis, |command| &command.writes), writes, "writes of {text}");
    assert_eq!(paths(&analysis, |command| &command.deletes), deletes, "deletes of {text}");
}

#[test]
fn operands_are_what_the_program_makes_of_them() {
    check("cat a -n b - \"$c\"", "a b ?", "", "");
    check("grep -rn -A 3 x src lib", "src lib", "", "");
    check("grep -e x -e y f", "f", "", "");
    check("sed -n 1p f", "f", "", "");
    check("awk -F: '{print $1}' f", "f", "", "");
    check("sed -i s/a/b/ f g", "", "f g", "");
    check("rm -rf a \"$b\" *.o", "", "", "a ? ?");
    check("cp -r a b c", "a b", "c c/a c/b", "");
    check("cp -t d a b", "a b", "d d/a d/b", "");
    check("cp a/b .; mv c/d ./", "a/b c/d", ". b ./ ./d", "c/d");
    check(
        "cp a/b /c/; cd d; cp e/f ..; cp \"$g\" .",
        "a/b d/e/f ?",
        "/c/ /c/b d/.. d/../f d/.",
        "",
    );
    check("mv a b", "a", "b", "a");
    check("ln -s a b", "a", "b", "");
    check("ln -sf a/b; ln -t c a/b", "a/b a/b", "b c c/b", "");
    check("rsync -a a/ b/; rsync -a a b/", "a/ a", "b/ b/ b/a", "");
    check("install -m 644 a b/", "a", "b/ b/a", "");
    check("mkdir -p -m 700 a b", "", "a b", "");
    check("touch -r a b", "a", "b", "");
    check("chmod -R 755 a", "", "a", "");
    check("chmod -x a", "", "a", "");
    check("tee -a a b", "", "a b", "");
    check("sort -o out in", "in", "out", "");
    check("uniq a b", "a", "b", "");
    check("curl -o out https://example.com", "", "out", "");
    check("find a b -delete", "a b", "", "?");
    check("find . -fprint out", ".", "out", "");
    check("timeout 5 cat a", "a", "", "");
}

#[test]
fn redirections_are_files_too() {
    check("ls > a 2>> b < c", "c", "a b", "");
    check("ls &> a; ls >| b; ls >& c", "", "a b c", "");
    check("ls > /dev/null 2>&1 3>&- < /dev/null", "", "", "");
    check("> a", "", "a", "");
    check("{ ls; pwd; } > a", "", "a a", "");
    check("echo x > \"$f\"", "", "?", "");
    check("cat <<'X' > a\nx\nX", "", "a", "");
    check("cat <<< text", "", "", "");
    check("a1 && b1 > f | c1", "", "f", "");
    check("case $(a1) in esac > f", "", "f", "");
    check("{ f() { a1; }; } > o", "", "o", "");
    check("for x in $(a1); do b1; done > f", "", "f", "");
}

#[test]
fn cd_is_followed() {
    check("cd a; cat b", "a/b", "", "");
    check("cd a && cd b/ && cat c > d; rm /e", "a/b/c", "a/b/d", "/e");
    check("cd /x; cat y ../z", "/x/y /x/../z", "", "");
    check("(cd a; cat b); cat c", "a/b c", "", "");
    check("cd a > x 2>> y; cat b", "a/b", "x y", "");
    check("command cd a > x < y; cat b", "y a/b", "x", "");
    check("cd a | cat b; cat c", "b c", "", "");
    check("cd a & cat b", "b", "", "");
    check("x=$(cd a; cat b); cat c", "a/b c", "", "");
    check("cd \"$d\" && cat a /b", "? /b", "", "");
    check("cd; cat a", "?", "", "");
    check("cd -; cat a", "?", "", "");
    check("cd a || exit 1; cat b", "a/b", "", "");
    check("cd a && make > log", "", "a/log", "");
    check("cd a && make 2>&1 | tee log; cat b", "a/b", "a/log", "");
    check("sh -c 'cd a; cat b'; cat c", "a/b c", "", "");
    check("command cd a; cat b", "a/b", "", "");
    check("env cd a; cat b", "b", "", "");
    check("cd \"$PWD\"; cat b \"$PWD/c\"; cd .; cat d", "b c d", "", "");
    check("cat '~/a'; cd b; cat '~/c'", "~/a b/~/c", "", "");
}

#[test]
fn where_the_way_is_not_known_the_path_is_not_either() {
    check("true && cd a; cat b", "?", "", "");
    check("cd a || cat b; cat c", "b ?", "", "");
    check("if ls; then cd a; fi; cat b", "?", "", "");
    check("if ls; then cd a; else cd a; fi; cat b", "a/b", "", "");
    check("if ls; then cd a; else cd c; fi; cat b", "?", "", "");
    check("for x in 1 2; do cat b; cd a; done; cat c", "? ?", "", "");
    check("while ls; do cat b; done; cat c", "b c", "", "");
    check("case x in x) cd a;; esac; cat b", "?", "", "");
    check("f() { cd a; }; cat b; cd /x; cat c", "? ?", "", "");
    check("f() { cat a; }; cat b", "? b", "", "");
    check("pushd a; cat b", "?", "", "");
    check("env -C a cat b; cat c", "? c", "", "");
}

#[test]
fn paths_are_told_as_written_even_when_the_start_is_known() {
    let analysis = analyze_in("cat a; cd b; cat c /d", Some("/repo"));
    assert_eq!(paths(&analysis, |command| &command.reads), "a b/c /d");
}
