//! Random commands: drawn from a grammar of bash, then damaged a little.
//!
//! The same seed and number give the same command. Names of files are relative, and programs are those of the jail.

use fastrand::Rng;

use crate::harmless::{PROGRAMS, is_harmless};

/// Draws the command `number` of `seed`.
pub(crate) fn command(seed: u64, number: u64) -> String {
    let mut rng = Rng::with_seed(seed.rotate_left(32) ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    loop {
        let depth = rng.u32(0..4);
        let mut grammar = Grammar { rng, bodies: Vec::new(), delimiters: 0 };
        let mut text = grammar.text(depth);
        rng = grammar.rng;
        for _ in 0..rng.choice([0, 0, 0, 0, 0, 0, 1, 1, 2, 3]).unwrap_or(0) {
            text = damaged(&text, &mut rng);
        }
        if text.len() < 600 && is_harmless(&text) {
            return text;
        }
    }
}

struct Grammar {
    rng: Rng,
    /// Here-documents that belong behind the next newline.
    bodies: Vec<String>,
    delimiters: u32,
}

impl Grammar {
    fn one<'s>(&mut self, of: &[&'s str]) -> &'s str {
        self.rng.choice(of).copied().unwrap_or_default()
    }

    /// Whether something of this probability in percent happens.
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    fn text(&mut self, depth: u32) -> String {
        let mut text = self.list(depth);
        if !self.bodies.is_empty() {
            text += &self.newline();
            if self.chance(70) {
                text += &self.list(0);
                text += &self.newline();
            }
        }
        text
    }

    /// A newline and the bodies that begin there.
    fn newline(&mut self) -> String {
        let bodies: String = self.bodies.drain(..).collect();
        format!("\n{bodies}")
    }

    fn blank(&mut self) -> &'static str {
        match self.rng.u32(0..40) {
            0 => "\t",
            1 => " \\\n",
            2 => "\\\n ",
            3 => "  ",
            4 => " \\\n\t",
            _ => " ",
        }
    }

    fn name(&mut self) -> String {
        if self.chance(80) { self.own_name() } else { self.one(PROGRAMS).to_owned() }
    }

    /// A name that no real program has.
    fn own_name(&mut self) -> String {
        format!("c{}", self.rng.u32(1..38))
    }

    // ---- words

    fn plain(&mut self) -> &'static str {
        self.one(&[
            "a", "b", "foo", "-x", "-la", "--opt=v", "f1", "f2", "x=1", "1", "42", "-5", "0x1F",
            "a.b", "a,b", "a:b", "@", "%", "^", "+", "-", "--", "é", "日本", "a=b=c", "in", "do",
            "done", "then", "fi", "esac", "if", "time", "function", "!", "a!b", "a]", "]", "]]",
            "A_B", "%s\\n", "a+=b", "_", "0", "=", "==", "=~", "-eq", "-n", "-a", "a#b",
            "HEAD@{1}", "{}", "2", "-f", "a-", "é=1", "}", "{",
        ])
    }

    fn atom(&mut self, depth: u32) -> String {
        match self.rng.u32(0..100) {
            0..34 => self.plain().to_owned(),
            34..46 => {
                let inner = self.one(&[
                    "a", "b c", "#", "\"", "`c1`", "$(c2)", "\\", "a\nb", "", "*", "~", "; c3",
                    "!", "$x", "it", "\\\n", "<<E",
                ]);
                format!("'{inner}'")
            }
            46..62 => format!("\"{}\"", self.double_quoted(depth)),
            62..68 => {
                let inner = self.one(&[
                    "a", "\\'", "\\\\", "\\n", "\\x41", "\\101", "a\\'b", "\\\\\\'", "\"", "\\\"",
                    "$(c1)", "\\c?", "; c2 ", "\\e", "\\0", "\\q", "\\x", "`c3`", " #", "\\\\",
                ]);
                format!("$'{inner}'")
            }
            68 => format!("$\"{}\"", self.double_quoted(0)),
            69..75 => {
                let escaped = self.one(&[
                    " ", ";", "&", "|", "'", "\"", "\\", "$", "`", "#", "(", ")", "<", ">", "*",
                    "a", "~", "{", "\n", "!", "\t", "=",
                ]);
                format!("\\{escaped}")
            }
            75..83 => self.parameter(depth),
            83..90 => self.substitution(depth),
            90..92 => format!("$(({}))", self.arithmetic()),
            92..94 => self
                .one(&["{a,b}", "{1..3}", "{a", "{}", "{,}", "a{b,c}d", "{x}", "{a,{b,c}}", "{b,}"])
                .to_owned(),
            94..97 => self
                .one(&["*", "?", "[a-z]", "f*", "~", "~u", "*.txt", "[!a]", "f[12]", "[", "f[1"])
                .to_owned(),
            97..99 => {
                let inside = self.inside(depth);
                format!("{}({inside})", self.one(&["<", ">"]))
            }
            _ => self.one(&["@(a|b)", "$", "a$", "#b", "$[1]", "\"\"", "''"]).to_owned(),
        }
    }

    fn word(&mut self, depth: u32) -> String {
        let atoms = if self.chance(72) { 1 } else { self.rng.u32(2..5) };
        (0..atoms).map(|_| self.atom(depth)).collect()
    }

    fn double_quoted(&mut self, depth: u32) -> String {
        let pieces = self.rng.u32(0..4);
        (0..pieces)
            .map(|_| match self.rng.u32(0..10) {
                0..6 => self
                    .one(&[
                        "a", "b c", "#d", "'", "a'b", ";", "&", "|", ")", "(", "{a,b}", "*", "~",
                        "\n", "\\\n", "\\\"", "\\\\", "\\$", "\\`", "\\a", "!", "<", ">", "  ",
                        "$", "$'", " #",
                    ])
                    .to_owned(),
                6 | 7 => self.parameter(depth),
                8 => self.substitution(depth),
                _ => format!("$(({}))", self.arithmetic()),
            })
            .collect()
    }

    fn parameter(&mut self, depth: u32) -> String {
        let name = self
            .one(&["x", "y", "HOME", "1", "@", "*", "#", "?", "$", "!", "-", "0", "a_b", "UNSET"]);
        match self.rng.u32(0..20) {
            0..9 => format!("${name}"),
            9..12 => format!("${{{name}}}"),
            12 => self
                .one(&[
                    "${#x}", "${#}", "${x[0]}", "${x[@]}", "${#x[@]}", "${!x}", "${x@Q}", "${x^^}",
                ])
                .to_owned(),
            13..18 => {
                let operator = self.one(&[":-", "-", ":+", "+", "#", "##", "%", "%%", "/", "//"]);
                let text = self.one(&["", "a", "*", "a.b", "?", "-", "*.", "@", "%"]);
                format!("${{x{operator}{text}}}")
            }
            18 => format!("${{x:-{}}}", self.word(depth.saturating_sub(1))),
            _ => self
                .one(&[
                    "${x:1}",
                    "${x:=a}",
                    "${x[y]}",
                    "${x#$y}",
                    "${x:-'}'}",
                    "${x:-\"a\"}",
                    "${-}",
                    "${x,}",
                ])
                .to_owned(),
        }
    }

    fn arithmetic(&mut self) -> &'static str {
        self.one(&[
            "1", "1+2", "2 * 3", " 4 ", "10 % 3", "x", "$x", "x+1", "1<2", "(1)", "a[0]", "-1",
        ])
    }

    /// The commands of a substitution; here-documents in it end in it.
    fn inside(&mut self, depth: u32) -> String {
        let outer = std::mem::take(&mut self.bodies);
        let mut text = if depth == 0 { self.name() } else { self.list(depth - 1) };
        if !self.bodies.is_empty() {
            text += &self.newline();
        }
        self.bodies = outer;
        text
    }

    fn substitution(&mut self, depth: u32) -> String {
        match self.rng.u32(0..20) {
            0..13 => {
                let inside = self.inside(depth);
                let before = if inside.starts_with('(') || self.chance(10) { " " } else { "" };
                format!("$({before}{inside}{})", self.one(&["", "", "", " ", "\n"]))
            }
            13..17 => {
                let inside = if self.chance(60) {
                    format!("{} {}", self.name(), self.plain())
                } else {
                    self.inside(depth.min(1))
                };
                let escaped = inside.replace('\\', "\\\\").replace('`', "\\`");
                format!("`{escaped}`")
            }
            17 => self.one(&["$(<f1)", "$(< f1)", "$(<f1 c9)", "$( c8 )", "$()"]).to_owned(),
            18 => format!("$({} # {}\n)", self.name(), self.one(&["x)", "y", "'"])),
            _ => format!("$(case a in {}a) {};; esac)", self.one(&["", "("]), self.name()),
        }
    }

    // ---- redirections

    fn redirection(&mut self, depth: u32) -> String {
        match self.rng.u32(0..100) {
            0..45 => {
                let descriptor = self.one(&["", "", "", "2", "1", "3", "10"]);
                let operator = self.one(&[">", ">", ">>", ">|"]);
                let target = match self.rng.u32(0..8) {
                    0 => self.word(depth.saturating_sub(1)),
                    1 => "\"o 4\"".to_owned(),
                    2 => "'o5'".to_owned(),
                    3 | 4 => "/dev/null".to_owned(),
                    _ => self.one(&["o1", "o2", "f1", "$x.o"]).to_owned(),
                };
                format!("{descriptor}{operator}{}{target}", self.one(&["", " "]))
            }
            45..52 => format!("{}{}o3", self.one(&["&>", "&>>", ">&"]), self.one(&["", " "])),
            52..70 => self
                .one(&[
                    "2>&1", ">&2", "1>&2", "2>&-", "<&-", "<&0", "3<&0", ">&2-", "2>& 1", ">& -",
                    ">&-a", "<>f1",
                ])
                .to_owned(),
            70..80 => {
                self.one(&["<f1", "< f2", "</dev/null", "0<f1", "{fd}>o6", "<in.txt"]).to_owned()
            }
            80..84 => {
                let inside = self.inside(depth);
                format!("{} {}({inside})", self.one(&["<", ">"]), self.one(&["<", ">"]))
            }
            84..90 => format!("<<<{}{}", self.one(&["", " "]), self.word(depth.saturating_sub(1))),
            _ => self.here_document(depth),
        }
    }

    fn here_document(&mut self, depth: u32) -> String {
        self.delimiters += 1;
        let delimiter =
            format!("{}{}", self.one(&["EOF", "E", "X", "end", "A-B", "é"]), self.delimiters);
        let dash = self.one(&["", "", "-"]);
        let spelled = match self.rng.u32(0..9) {
            0..4 => delimiter.clone(),
            4 | 5 => format!("'{delimiter}'"),
            6 => format!("\"{delimiter}\""),
            7 => format!("\\{delimiter}"),
            _ => format!("{delimiter}\"\""),
        };
        let tab = if dash.is_empty() { "" } else { self.one(&["", "\t"]) };
        let mut body = String::new();
        for _ in 0..self.rng.u32(0..4) {
            let line = match self.rng.u32(0..26) {
                0 => self.substitution(depth.saturating_sub(1)).replace('\n', " "),
                1 => self.parameter(0),
                2 => format!("{delimiter}x"),
                3 => format!(" {delimiter}"),
                4 => format!("{delimiter} "),
                5 => format!("\\{delimiter}"),
                6 => format!("\t{}", self.substitution(0).replace('\n', " ")),
                _ => self
                    .one(&[
                        "text",
                        "c7 not run",
                        "\\$(c1)",
                        "\\\\$(c1)",
                        "'$(c2)'",
                        "\"`c3`\"",
                        "$$(c4)",
                        "$",
                        "",
                        "a\\",
                        "it's",
                        "\"",
                        "$((1+1))",
                        "# $(c6)",
                        "a & b; c9",
                        "(",
                        "$'x'",
                        "\\a",
                        "${x:-a}",
                        "`c5 \\`c6\\``",
                    ])
                    .to_owned(),
            };
            body += &format!("{tab}{line}\n");
        }
        self.bodies.push(format!("{body}{tab}{delimiter}\n"));
        format!("{}<<{dash}{}{spelled}", self.one(&["", "", "", "0"]), self.one(&["", "", " "]))
    }

    // ---- commands

    fn simple(&mut self, depth: u32) -> String {
        let mut parts = Vec::new();
        while self.chance(10) {
            let value =
                if self.chance(20) { String::new() } else { self.word(depth.saturating_sub(1)) };
            parts.push(format!(
                "{}{}{value}",
                self.one(&["x", "y", "a_b", "z"]),
                self.one(&["=", "=", "+="])
            ));
        }
        while self.chance(4) {
            parts.push(self.redirection(depth));
        }
        let blank = self.blank();
        if !parts.is_empty() && self.chance(15) {
            return parts.join(blank);
        }
        let name = self.name();
        parts.push(match self.rng.u32(0..60) {
            0 => format!("\"{name}\""),
            1 => format!("'{name}'"),
            2 => format!("{name}''"),
            3 => format!("\\{name}"),
            4 => name.replacen('c', "c\\\n", 1),
            5 => format!("$'{name}'"),
            6 => "$x".to_owned(),
            _ => name,
        });
        for _ in 0..self.rng.choice([0, 1, 1, 2, 2, 3, 4]).unwrap_or(0) {
            parts.push(if self.chance(14) { self.redirection(depth) } else { self.word(depth) });
        }
        let mut text = String::new();
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                text += self.blank();
            }
            text += part;
        }
        text
    }

    /// Builtins and wrappers; what these run has a name that no real program has.
    fn builtin(&mut self, depth: u32) -> String {
        let name = self.own_name();
        let word = self.word(depth.saturating_sub(1));
        match self.rng.u32(0..46) {
            0 | 1 => format!("echo {word}"),
            2 => format!(": {word}"),
            3 => format!("printf %s {word}"),
            4 | 5 => "cd d".to_owned(),
            6 => self
                .one(&[
                    "cd",
                    "cd d && c1 >o7",
                    "cd d; c2 >o8",
                    "(cd d; c3 >o9)",
                    "cd e || c4",
                    "cd - >o1",
                ])
                .to_owned(),
            7 => self
                .one(&[
                    "true",
                    "false",
                    "pwd",
                    "type ls",
                    "umask",
                    "wait",
                    "set -e",
                    "set -o pipefail",
                ])
                .to_owned(),
            8 => format!("[ {word} ]"),
            9 => format!("[ -n {word} ]"),
            10 => {
                let right = self.word(0);
                format!("[ {word} {} {right} ]", self.one(&["=", "==", "!=", "-eq", "-nt"]))
            }
            11 => format!("test -f {word}"),
            12 => format!("export x={word}"),
            13 => "export x y".to_owned(),
            14 => format!("local x={word}"),
            15 => format!("declare x={word}"),
            16 => self
                .one(&[
                    "unset x",
                    "shift",
                    "jobs",
                    "set -- a",
                    "read x",
                    "read -r x <f1",
                    "return 0",
                ])
                .to_owned(),
            17 => {
                self.one(&["read -r x; c5 \"$x\"", "let x=1", "exit 3; c6", "wait; c7"]).to_owned()
            }
            18 => format!("env {}{name} {word}", self.one(&["", "X=1 ", "-u HOME ", "-- "])),
            19 | 20 => format!(
                "timeout {}{name} {word}",
                self.one(&["5 ", "-s KILL 5 ", "-k 1 5 ", "--signal=INT 5s "])
            ),
            21 => format!("nice {}{name} {word}", self.one(&["", "-n 5 ", "-5 "])),
            22 => format!("nohup {name} {word}"),
            23..26 => {
                let options = self.one(&["", "-n1 ", "-I{} ", "-0 ", "-P 2 ", "-r ", "-n 1 -I % "]);
                format!(
                    "echo a b | xargs {options}{name} {}",
                    self.one(&["", "{}", "x", "%", "a{}"])
                )
            }
            26 | 27 => {
                let found = self.one(&["", "-name f1 ", "-type f "]);
                format!(
                    "find . {found}-exec {name} {{}} {}",
                    self.one(&["\\;", "+", "';'", "a \\;"])
                )
            }
            28 => format!("bash -c '{name} a; {name}'"),
            29 => format!("bash -c \"{name} $(c3)\""),
            30 => format!("sh -c '{name} \"$1\"' s {word}"),
            31 => format!("sh -c {name}"),
            32 => format!("bash -c '{name} '\"'a b'\" x"),
            33 => format!("command {name} {word}"),
            34 => format!("command -v {name}"),
            35 => format!("stdbuf -oL {name} {word}"),
            36..39 => format!("time {}{name} {word}", self.one(&["", "-p ", "-- "])),
            39 => format!("eval '{name} a'"),
            40 => format!("trap '{name}' EXIT"),
            41 => format!("exec {name} a"),
            42 => format!("nice nohup timeout 5 env {name}"),
            43 => format!("sudo -n {name} {word}"),
            44 => format!("xargs {name} <f1"),
            _ => format!("time {{ {name}; }}"),
        }
    }

    fn compound(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        match self.rng.u32(0..26) {
            0 | 1 => format!("{{ {}}}", self.block(depth)),
            2..5 => format!("({}{})", self.one(&["", " "]), self.inside(depth)),
            5..8 => {
                let mut text = format!("if {}then {}", self.block(depth), self.block(depth));
                if self.chance(30) {
                    text += &format!("elif {}then {}", self.block(depth), self.block(depth));
                }
                if self.chance(40) {
                    text += &format!("else {}", self.block(depth));
                }
                text + "fi"
            }
            8..11 => format!(
                "{} {}do {}done",
                self.one(&["while", "until"]),
                self.block(depth),
                self.block(depth)
            ),
            11..14 => {
                let words = format!("{} {}", self.word(depth), self.word(depth));
                let end = if self.bodies.is_empty() && self.chance(70) {
                    ";".to_owned()
                } else {
                    self.newline()
                };
                format!("for v in {words}{end} do {}done", self.block(depth))
            }
            14..17 => self.case(depth),
            17 => {
                let name = self.one(&["fn", "g_h", "c33", "ls", "f-x"]);
                let body = self.block(depth);
                match self.rng.u32(0..4) {
                    0 => format!("{name}() {{ {body}}}; {name} a"),
                    1 => format!("function {name} {{ {body}}}; {name}"),
                    2 => format!("{name} () ({}); {name} b", self.inside(depth)),
                    _ => format!("function {name}() {{ {body}}} >o7; {name}"),
                }
            }
            18 => self
                .one(&[
                    "(( x = 1 ))",
                    "((c1); c2)",
                    "for ((;;)); do break; done",
                    "for v do c1; done",
                ])
                .to_owned(),
            19..22 => format!("[[ {} ]]", self.condition(depth)),
            22..24 => format!("! {}", self.command(depth)),
            24 => format!("{{ {}}} {}", self.block(depth), self.redirection(depth)),
            _ => self
                .one(&[
                    "time ! c1",
                    "! time c2",
                    "coproc c3",
                    "select v in a; do c4; done",
                    "! ! c5",
                ])
                .to_owned(),
        }
    }

    fn case(&mut self, depth: u32) -> String {
        let mut text = format!("case {} in ", self.word(depth));
        for _ in 0..self.rng.u32(0..3) {
            let pattern = match self.rng.u32(0..6) {
                0 => "*".to_owned(),
                1 => self.one(&["a|b", "a | \"b c\"", "[a-z]*", "?", "'a b'", "$x"]).to_owned(),
                _ => self.word(depth.min(1)),
            };
            text += self.one(&["", "", "("]);
            text += &format!("{pattern}) {}", self.block(depth));
            let end = self.one(&[";;", ";;", ";&", ";;&"]);
            text += end;
            text += self.one(&[" ", "\n"]);
        }
        text + self.one(&["", "*) c8;; ", "*) c9\n"]) + "esac"
    }

    fn condition(&mut self, depth: u32) -> String {
        let left = self.word(depth.min(1));
        let right = self.word(depth.min(1));
        match self.rng.u32(0..12) {
            0 | 1 if depth > 0 => {
                let (first, second) = (self.condition(depth - 1), self.condition(depth - 1));
                format!("{first} {} {second}", self.one(&["&&", "||"]))
            }
            2 => format!("! {left}"),
            3..6 => format!("{} {left}", self.one(&["-n", "-z", "-f", "-e", "-v"])),
            6 => format!(
                "{left} =~ {}",
                self.one(&["^a.*$", "(a|b)", "[a-z]+", "$x", "\\)", "a$", "^(a|b)+$"])
            ),
            7 => left,
            _ => format!("{left} {} {right}", self.one(&["==", "=", "!=", "<", "-eq", "-nt"])),
        }
    }

    fn command(&mut self, depth: u32) -> String {
        match self.rng.u32(0..100) {
            0..26 if depth > 0 => {
                let mut text = self.compound(depth);
                if self.chance(12) {
                    text += &format!(" {}", self.redirection(depth - 1));
                }
                text
            }
            0..42 => self.builtin(depth),
            _ => self.simple(depth),
        }
    }

    /// A list whose last command is terminated.
    fn block(&mut self, depth: u32) -> String {
        let text = self.list(depth);
        if text.ends_with(['&', '\n']) && self.bodies.is_empty() {
            return text + " ";
        }
        if self.bodies.is_empty() && self.chance(75) { text + "; " } else { text + &self.newline() }
    }

    fn list(&mut self, depth: u32) -> String {
        let mut text = self.and_or(depth);
        while self.chance(25) {
            text += &if self.bodies.is_empty() && self.chance(85) {
                self.one(&["; ", ";", " ; ", " & ", "&", "; \\\n"]).to_owned()
            } else {
                let comment = self.one(&["", "", "# note\n", "#c1\n", "# it's\n"]);
                self.newline() + comment
            };
            text += &self.and_or(depth);
        }
        if self.chance(4) {
            let comment = self.one(&["end", "it's", "\"", "$(c1)", "`", "\\"]);
            text += &format!(" # {comment}{}", self.newline());
        }
        text
    }

    fn and_or(&mut self, depth: u32) -> String {
        let mut text = self.pipeline(depth);
        while self.chance(20) {
            text += self.one(&[" && ", " || ", "&&", "||", " &\\\n& ", " && \\\n"]);
            if self.chance(10) {
                text += &self.newline();
            }
            text += &self.pipeline(depth);
        }
        text
    }

    fn pipeline(&mut self, depth: u32) -> String {
        let mut text = self.command(depth);
        while self.chance(15) {
            text += self.one(&[" | ", "|", " |& "]);
            if self.chance(8) {
                text += &self.newline();
            }
            text += &self.command(depth);
        }
        text
    }
}

/// What is put into texts to damage them.
const SPLINTERS: &[&str] = &[
    "\\", "'", "\"", "`", "$", "#", "(", ")", "{", "}", "[", "]", ";", "&", "|", "<", ">", "!",
    "~", "*", "?", " ", "\t", "\n", "=", "+", "-", ":", "@", "%", "^", ",", "\\\n", "\\\n", "\\\n",
    "$(c36)", "`c36`", "$'", "$\"", "${x", "<<E\n", "\nE\n", " #", "#", "\\\\", "\\'", "\\\"",
    "$((", "))", "&&", "||", ";;", "<(", ">(", "''", "\"\"", "$x", "=(", "[[ ", " ]]", "\r",
    "\u{a0}", "\u{b}", "é", " in ", " do ", ";c36;", "0", "2>", "x=", "time ", "! ", "case ",
    " esac", "in",
];

fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = rng.usize(0..=characters.len());
    match rng.u32(0..10) {
        0..6 => {
            let splinter = rng.choice(SPLINTERS).copied().unwrap_or_default();
            characters.splice(at..at, splinter.chars());
        }
        6 | 7 => {
            let end = characters.len().min(at + rng.usize(1..3));
            characters.drain(at..end);
        }
        _ => {
            let end = characters.len().min(at + rng.usize(1..8));
            let piece: Vec<char> = characters.iter().skip(at).take(end - at).copied().collect();
            let place = rng.usize(0..=characters.len());
            characters.splice(place..place, piece);
        }
    }
    characters.into_iter().collect()
}
