//! Pages and their Markdown.

use std::fmt::Write as _;

use proptest::prelude::*;
use reqwest::Url;

use super::convert;

#[track_caller]
fn check(html: &str, expected: &str) {
    let base = Url::parse("https://example.com/docs/page.html").ok();
    let made = convert(html, base.as_ref(), 10_000);
    assert_eq!(made.text, expected, "{html}");
}

#[test]
fn paragraphs_headings_and_rules() {
    check(
        "<h1>One</h1><p>a\n  b</p><p>c<br>d</p><hr><h3>Two</h3>x",
        "# One\n\na b\n\nc\nd\n\n---\n\n### Two\n\nx",
    );
    check("<div>a</div><div>b</div>", "a\nb");
    check("a&nbsp;b &amp; &lt;c&gt; &eacute;", "a b & <c> é");
    check("<p>a<p>b", "a\n\nb");
}

#[test]
fn emphasis_code_and_links() {
    check("<b>a </b>b <em>c</em> <code>d e</code>", "**a** b *c* `d e`");
    check(
        "<a href='other.html'>see <b>this</b></a>.",
        "[see **this**](https://example.com/docs/other.html).",
    );
    check("<a href='/x?a=1&amp;b=2'>x</a>", "[x](https://example.com/x?a=1&b=2)");
    check("<a href='javascript:alert(1)'>x</a> <a href='#top'>top</a> <a>plain</a>", "x top plain");
    check("<a href='/x'></a><b></b>a", "a");
    check("<a href=/x>a<a href=/y>b</a>", "[a](https://example.com/x)[b](https://example.com/y)");
    check(
        "<img src=a.png alt='A  picture'><img src=b.png>",
        "![A picture](https://example.com/docs/a.png)",
    );
    check("<base href='https://other.example/'><a href=x>x</a>", "[x](https://other.example/x)");
}

#[test]
fn lists_are_nested_and_numbered() {
    check("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne");
    check("<ol start=9><li>a</li><li><p>b</p><p>c</p></li></ol>", "9. a\n10. b\n\n    c");
    check("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc");
}

#[test]
fn preformatted_text_keeps_its_blanks() {
    check(
        "<pre><code class='language-rust'>fn a() {\n    b();\n}\n</code></pre>x",
        "```rust\nfn a() {\n    b();\n}\n```\n\nx",
    );
    check("<pre>a\n\n  b</pre>", "```\na\n\n  b\n```");
    check("<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```");
}

#[test]
fn tables_have_a_head() {
    check(
        "<table><tr><th>a<th>b</tr><tr><td>1<td><p>2</p><p>3</p></tr></table>x",
        "| a | b |\n|---|---|\n| 1 | 2 3 |\n\nx",
    );
    check(
        "<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr></table>",
        "| a b | c |\n|---|---|",
    );
}

#[test]
fn scripts_styles_and_pictures_are_left_out() {
    check(
        "a<script>if (a < b) '<p>no</p>'</script><style>p > a {}</style><svg><title>no</title><text>no</text></svg>b",
        "ab",
    );
    check("<noscript><p>no</p></noscript>a<!-- no -->", "a");
    check("<svg><path><p>a forgotten end</p>", "a forgotten end");
}

#[test]
fn the_title_is_told_apart() {
    let made = convert("<title> A\n title </title><body>text", None, 100);
    assert_eq!((made.title.as_deref(), made.text.as_str()), (Some("A title"), "text"));
}

#[test]
fn i8_a_page_of_a_million_tags_is_converted_within_its_limit() {
    let mut html = String::new();
    for number in 0..300_000 {
        write!(html, "<div><ul><li><b><blockquote><table><tr><td>{number}").unwrap_or_default();
    }
    let made = convert(&html, None, 1_000);
    assert!(made.is_cut && made.text.chars().count() <= 4_000, "{}", made.text.len());
}

proptest! {
    #[test]
    fn any_text_is_converted(html in "(<[/]?(p|b|a href=x|li|ul|ol|pre|code|td|tr|table|svg|h2|blockquote)>|[a-z&;<> \n]{0,5}){0,60}") {
        let made = convert(&html, None, 50);
        // Marks of what is open may come on top of the text.
        prop_assert!(made.text.chars().count() < 50 + 60 * 80);
    }
}
