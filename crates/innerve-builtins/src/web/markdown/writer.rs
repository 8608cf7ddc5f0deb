//! Writes Markdown piece by piece: what lies between two pieces of text is decided when the second one comes.

/// How deep quotes, lists and emphasis are followed; deeper ones count as text.
const MAX_DEPTH: usize = 32;

/// What lies between the last text and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
    Block,
}

/// What lines stand in.
enum Container {
    Quote,
    List {
        /// The number of the next item; `None` for bullets.
        next: Option<u64>,
    },
    /// An item of a list, with its indentation.
    Item(usize),
}

/// What a run of text is.
struct Inline {
    name: &'static str,
    link: Option<String>,
    /// Where it begins; `None` as long as it has no text.
    start: Option<usize>,
}

struct Table {
    rows: u32,
    cells: u32,
    /// Tables inside a cell.
    inner: u32,
    is_in_cell: bool,
}

/// Markdown that grows up to a limit.
pub(super) struct Writer {
    out: String,
    /// Characters that may still come.
    room: usize,
    is_full: bool,
    gap: Gap,
    /// Whether the line holds nothing but what its containers put there.
    is_fresh: bool,
    containers: Vec<Container>,
    inlines: Vec<Inline>,
    table: Option<Table>,
    /// Where the content of preformatted text begins.
    preformatted: Option<usize>,
}

impl Writer {
    pub(super) fn new(max_chars: usize) -> Self {
        Self {
            out: String::new(),
            room: max_chars,
            is_full: false,
            gap: Gap::None,
            is_fresh: true,
            containers: Vec::new(),
            inlines: Vec::new(),
            table: None,
            preformatted: None,
        }
    }

    /// Whether something was left out.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn finish(mut self) -> String {
        if self.preformatted.is_some() {
            self.end_preformatted();
        }
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        self.out
    }

    /// Begins a paragraph.
    pub(super) fn block(&mut self) {
        self.leave(Gap::Block);
    }

    /// Begins a line.
    pub(super) fn line(&mut self) {
        if self.preformatted.is_some() {
            return self.raw("\n");
        }
        self.leave(Gap::Line);
    }

    fn leave(&mut self, gap: Gap) {
        let is_in_cell = self.table.as_ref().is_some_and(|table| table.is_in_cell);
        let gap = if is_in_cell { Gap::Space } else { gap };
        self.gap = self.gap.max(gap);
    }

    pub(super) fn heading(&mut self, name: &str) {
        self.block();
        self.inlines.clear();
        let level = name.bytes().last().map_or(1, |digit| usize::from(digit.saturating_sub(b'0')));
        if self.table.is_none() {
            self.put(&"#".repeat(level.clamp(1, 6)));
            self.gap = Gap::Space;
        }
    }

    pub(super) fn rule(&mut self) {
        if self.table.is_none() {
            self.block();
            self.put("---");
            self.block();
        }
    }

    pub(super) fn list(&mut self, first: Option<u64>) {
        let is_inner =
            self.containers.iter().any(|container| matches!(container, Container::Item(_)));
        self.leave(if is_inner { Gap::Line } else { Gap::Block });
        self.push(Container::List { next: first });
    }

    pub(super) fn end_list(&mut self) {
        if let Some(at) = self.last(|container| matches!(container, Container::List { .. })) {
            self.containers.truncate(at);
            let is_inner = !self.containers.is_empty();
            self.leave(if is_inner { Gap::Line } else { Gap::Block });
        }
    }

    pub(super) fn item(&mut self) {
        self.end_item();
        self.leave(Gap::Line);
        let marker = match self.containers.last_mut() {
            Some(Container::List { next: Some(number) }) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(Container::List { next: None } | Container::Quote | Container::Item(_)) | None => {
                "- ".to_owned()
            }
        };
        if self.table.is_some() {
            return;
        }
        self.put(marker.trim_end());
        self.gap = Gap::None;
        self.out.push(' ');
        self.is_fresh = true;
        self.push(Container::Item(marker.len()));
    }

    pub(super) fn end_item(&mut self) {
        let list = self.last(|container| matches!(container, Container::List { .. }));
        let item = self.last(|container| matches!(container, Container::Item(_)));
        if let Some(item) = item.filter(|item| list.is_none_or(|list| list < *item)) {
            self.containers.truncate(item);
            self.leave(Gap::Line);
        }
    }

    pub(super) fn quote(&mut self) {
        self.block();
        self.push(Container::Quote);
        if !self.is_fresh || self.out.is_empty() {
            return;
        }
        self.out.push_str("> ");
    }

    pub(super) fn end_quote(&mut self) {
        if let Some(at) = self.last(|container| matches!(container, Container::Quote)) {
            self.containers.truncate(at);
            self.block();
        }
    }

    fn push(&mut self, container: Container) {
        if self.containers.len() < MAX_DEPTH {
            self.containers.push(container);
        }
    }

    fn last(&self, is_meant: impl Fn(&Container) -> bool) -> Option<usize> {
        self.containers.iter().rposition(is_meant)
    }

    pub(super) fn preformatted(&mut self, language: &str) {
        if self.preformatted.is_some() || self.table.is_some() {
            return;
        }
        self.block();
        self.put("```");
        self.preformatted = Some(self.out.len());
        self.set_language(language);
    }

    /// Names the language of the preformatted text that has just begun.
    pub(super) fn set_language(&mut self, language: &str) {
        if self.preformatted == Some(self.out.len()) {
            self.out.push_str(language);
        }
    }

    pub(super) fn end_preformatted(&mut self) {
        if self.preformatted.take().is_none() {
            return;
        }
        let end = self.out.trim_end_matches(['\n', ' ']).len();
        self.out.truncate(end);
        self.new_line();
        self.out.push_str("```");
        self.block();
    }

    /// Begins a run of text that is emphasised or leads somewhere.
    pub(super) fn open(&mut self, name: &'static str, link: Option<String>) {
        if self.preformatted.is_none() && self.inlines.len() < MAX_DEPTH {
            self.inlines.push(Inline { name, link, start: None });
        }
    }

    /// Ends a run of text; what was begun inside of it and not ended ends too, unmarked.
    pub(super) fn close(&mut self, name: &str) {
        let Some(at) = self.inlines.iter().rposition(|inline| inline.name == name) else { return };
        let Some(inline) = self.inlines.drain(at..).next() else { return };
        let Some(start) = inline.start else { return };
        let (before, after) = match (inline.name, inline.link) {
            ("strong", _) => ("**", "**".to_owned()),
            ("em", _) => ("*", "*".to_owned()),
            ("del", _) => ("~~", "~~".to_owned()),
            ("code", _) => ("`", "`".to_owned()),
            (_, Some(link)) => ("[", format!("]({link})")),
            (_, None) => return,
        };
        let text = self.out.get(start..).unwrap_or_default();
        if text.trim().is_empty() {
            return;
        }
        if text.contains("\n\n") {
            // Marks do not reach over paragraphs; where a link leads is said behind.
            if let Some(link) = after.strip_prefix(']') {
                self.out.push_str(&format!(" {link}"));
            }
            return;
        }
        self.out.insert_str(start, before);
        self.out.push_str(&after);
    }

    pub(super) fn image(&mut self, alt: &str, source: Option<&str>) {
        let alt: Vec<&str> = alt.split_whitespace().collect();
        let (Some(source), false) = (source, alt.is_empty()) else { return };
        if self.preformatted.is_none() {
            self.put(&format!("![{}]({source})", alt.join(" ")));
        }
    }

    pub(super) fn table(&mut self) {
        if let Some(table) = &mut self.table {
            table.inner += 1;
        } else {
            self.block();
            self.table = Some(Table { rows: 0, cells: 0, inner: 0, is_in_cell: false });
        }
    }

    pub(super) fn is_in_table(&self) -> bool {
        self.table.is_some()
    }

    /// The table, unless what comes belongs to one inside of it.
    fn outer(&mut self) -> Option<&mut Table> {
        self.table.as_mut().filter(|table| table.inner == 0)
    }

    pub(super) fn row(&mut self) {
        self.end_row();
    }

    pub(super) fn cell(&mut self) {
        self.end_cell();
        let Some(table) = self.outer() else { return self.leave(Gap::Space) };
        table.is_in_cell = true;
        table.cells += 1;
        let is_first = table.cells == 1;
        if is_first {
            self.gap = self.gap.max(Gap::Line);
            self.put("|");
        }
        self.gap = Gap::Space;
        self.inlines.clear();
    }

    pub(super) fn end_cell(&mut self) {
        let Some(table) = self.outer() else { return };
        if std::mem::take(&mut table.is_in_cell) {
            self.gap = Gap::Space;
            self.put("|");
        }
    }

    pub(super) fn end_row(&mut self) {
        self.end_cell();
        let Some(table) = self.outer() else { return };
        let cells = std::mem::take(&mut table.cells);
        if cells == 0 {
            return;
        }
        table.rows += 1;
        let is_head = table.rows == 1;
        self.leave(Gap::Line);
        if is_head {
            let width = usize::try_from(cells).unwrap_or(1).min(100);
            self.put(&format!("|{}", "---|".repeat(width)));
            self.leave(Gap::Line);
        }
    }

    pub(super) fn end_table(&mut self) {
        match &mut self.table {
            Some(table) if table.inner > 0 => table.inner -= 1,
            Some(_) => {
                self.end_row();
                self.table = None;
                self.block();
            }
            None => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.preformatted.is_some() {
            return self.raw(text);
        }
        for (index, word) in text.split(|letter: char| letter.is_whitespace()).enumerate() {
            if index > 0 {
                self.gap = self.gap.max(Gap::Space);
            }
            if !word.is_empty() {
                self.put(word);
            }
            if self.is_full {
                return;
            }
        }
    }

    /// Text whose lines and blanks stay.
    fn raw(&mut self, text: &str) {
        if self.preformatted == Some(self.out.len())
            || self
                .preformatted
                .is_some_and(|at| !self.out.get(at..).unwrap_or_default().contains('\n'))
        {
            self.new_line();
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.new_line();
            }
            self.take(line.trim_end_matches('\r'));
        }
    }

    /// Text without blanks at its ends, after the gap that is due.
    fn put(&mut self, text: &str) {
        self.close_gap();
        let start = self.out.len();
        for inline in self.inlines.iter_mut().filter(|inline| inline.start.is_none()) {
            inline.start = Some(start);
        }
        self.take(text);
        self.is_fresh = false;
    }

    fn take(&mut self, text: &str) {
        for letter in text.chars() {
            if self.room == 0 {
                self.is_full = true;
                return;
            }
            self.room -= 1;
            self.out.push(letter);
        }
    }

    fn close_gap(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        if self.out.is_empty() {
            self.prefix();
            return;
        }
        if self.is_fresh {
            return;
        }
        match gap {
            Gap::None => {}
            Gap::Space => self.out.push(' '),
            Gap::Line => self.new_line(),
            Gap::Block => {
                self.new_line();
                self.new_line();
            }
        }
    }

    fn new_line(&mut self) {
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
        // Lines count, so that a page of nothing but lines ends too.
        self.room = self.room.saturating_sub(1);
        self.is_full |= self.room == 0;
        self.out.push('\n');
        self.prefix();
    }

    fn prefix(&mut self) {
        for container in &self.containers {
            match container {
                Container::Quote => self.out.push_str("> "),
                Container::Item(width) => self.out.push_str(&" ".repeat(*width)),
                Container::List { .. } => {}
            }
        }
    }
}
