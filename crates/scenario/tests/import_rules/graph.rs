//! Which file of a crate uses which other file, from the paths in its source.
//!
//! **What counts.** A path that begins with `crate`, `self`, `super`, a module that the file declares, or a name that
//! the file imports, is followed to the file that defines the item. A re-export (`pub use`) is followed too: a path
//! through a `mod.rs` that only passes names on leads to the files of these names, and not to the `mod.rs`. Paths in
//! the bodies of macros count where they are written.
//!
//! **What does not count.** The declaration `mod name;`. A re-export that the file does not use itself. An import of a
//! module: the paths that begin with this module's name count. A method: it is called without a path. What tests use
//! (modules called `tests`, modules with `#[cfg(test)]`, and the modules below them): a test may examine a file through
//! what is built on this file, such as a congestion control in a whole connection.
//!
//! **Units.** A file is one unit with its inline modules and its tests. Paths within a unit do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module's path within its crate; empty for the crate itself.
type Module = Vec<String>;

/// A name that a module imports.
#[derive(Clone, Debug)]
struct Import {
    /// The steps of its path as they are written.
    path: Vec<String>,
    /// The name within the module; `*` for all names of the path.
    name: String,
    /// Whether it passes the name on to other modules.
    is_public: bool,
}

/// A module: a file, or an inline module of a file.
#[derive(Debug, Default)]
struct Content {
    unit: String,
    imports: Vec<Import>,
    /// The paths in its code outside of imports.
    paths: Vec<Vec<String>>,
    /// Every word in its code outside of imports.
    words: BTreeSet<String>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Module(Module),
    /// An item of a module.
    Item(Module),
    /// Another crate, or a name that only the compiler knows.
    Unknown,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub struct Crate {
    modules: BTreeMap<Module, Content>,
    /// Macros with `#[macro_export]`, which are items of the crate, and the modules that define them.
    macros: BTreeMap<String, Module>,
    /// Modules for tests.
    tests: BTreeSet<Module>,
}

impl Crate {
    /// The crate with these source files, by their paths below `src`.
    pub fn new<'a>(files: impl Iterator<Item = (&'a Path, TokenStream)>) -> Self {
        let mut this = Self::default();
        for (path, tokens) in files {
            let module = module(path);
            let unit = if module.is_empty() { "lib".to_owned() } else { module.join("/") };
            this.read(&module, &unit, tokens);
        }
        this
    }

    fn read(&mut self, module: &Module, unit: &str, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut content = Content { unit: unit.to_owned(), ..Content::default() };
        self.scan(module, &tokens, &mut content);
        self.modules.insert(module.clone(), content);
    }

    /// Takes in the code of a module. Groups other than inline modules belong to the module that they stand in.
    fn scan(&mut self, module: &Module, tokens: &[TokenTree], content: &mut Content) {
        let word = |index: usize| match tokens.get(index) {
            Some(TokenTree::Ident(word)) => word.to_string(),
            _ => String::new(),
        };
        let mut index = 0;
        while index < tokens.len() {
            match &tokens[index] {
                TokenTree::Ident(first) if first == "use" && !is_punct(tokens.get(index + 1), '<') => {
                    let is_public = index > 0 && is_visibility(&tokens[..index]);
                    let end = (index..tokens.len()).find(|&i| is_punct(tokens.get(i), ';')).unwrap_or(tokens.len());
                    leaves(&tokens[index + 1..end], &[], is_public, &mut content.imports);
                    index = end;
                }
                TokenTree::Ident(first) if first == "mod" && is_module(tokens.get(index + 2)) => {
                    let mut below = module.clone();
                    below.push(word(index + 1));
                    if word(index + 1) == "tests" || is_for_tests(&tokens[..index]) {
                        self.tests.insert(below.clone());
                    }
                    if let Some(TokenTree::Group(body)) = tokens.get(index + 2) {
                        self.read(&below, &content.unit.clone(), body.stream());
                    }
                    index += 2;
                }
                TokenTree::Ident(first) => {
                    if first == "macro_rules" && is_exported(&tokens[..index]) {
                        self.macros.insert(word(index + 2), module.clone());
                    }
                    let (path, end) = path_at(tokens, index);
                    content.words.insert(path[0].clone());
                    if path.len() > 1 {
                        content.paths.push(path);
                    }
                    index = end;
                }
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    self.scan(module, &inner, content);
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// What the steps of a path lead to from a module.
    fn resolve(&self, from: &Module, steps: &[String], seen: &mut BTreeSet<(Module, Vec<String>)>) -> Target {
        if !seen.insert((from.clone(), steps.to_vec())) {
            return Target::Unknown;
        }
        let [first, rest @ ..] = steps else { return Target::Module(from.clone()) };
        match first.as_str() {
            "crate" => self.walk(&Vec::new(), rest, seen),
            "self" => self.walk(from, rest, seen),
            "super" => {
                let above = &from[..from.len().saturating_sub(1)];
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(&above.to_vec(), rest, seen),
                    _ => self.walk(&above.to_vec(), rest, seen),
                }
            }
            _ => match self.step(from, first, seen) {
                Some(Target::Module(below)) => self.walk(&below, rest, seen),
                Some(target) => target,
                None => Target::Unknown,
            },
        }
    }

    /// Goes on from a module. A name that is neither a module nor imported is an item of the module itself.
    fn walk(&self, from: &Module, steps: &[String], seen: &mut BTreeSet<(Module, Vec<String>)>) -> Target {
        let [first, rest @ ..] = steps else { return Target::Module(from.clone()) };
        if from.is_empty()
            && let Some(home) = self.macros.get(first)
        {
            return Target::Item(home.clone());
        }
        match self.step(from, first, seen) {
            Some(Target::Module(below)) => self.walk(&below, rest, seen),
            Some(target) => target,
            None => Target::Item(from.clone()),
        }
    }

    /// One step from a module: to a module below it, or to a name that it imports.
    fn step(&self, from: &Module, name: &str, seen: &mut BTreeSet<(Module, Vec<String>)>) -> Option<Target> {
        let mut below = from.clone();
        below.push(name.to_owned());
        if self.modules.contains_key(&below) {
            return Some(Target::Module(below));
        }
        let import = self.modules.get(from)?.imports.iter().find(|import| import.name == name)?;
        Some(self.resolve(from, &import.path, seen))
    }

    /// The units that each unit uses, with a path that shows it.
    pub fn uses(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut uses: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let is_test = |module: &Module| (1..=module.len()).any(|end| self.tests.contains(&module[..end]));
        for (module, content) in self.modules.iter().filter(|(module, _)| !is_test(module)) {
            let used = uses.entry(content.unit.clone()).or_default();
            let imports = content.imports.iter().filter(|it| !it.is_public || content.words.contains(&it.name));
            let imports = imports.map(|it| (&it.path, it.name == "*"));
            for (path, is_glob) in imports.chain(content.paths.iter().map(|path| (path, false))) {
                let home = match self.resolve(module, path, &mut BTreeSet::new()) {
                    Target::Item(home) => home,
                    Target::Module(home) if is_glob => home,
                    Target::Module(_) | Target::Unknown => continue,
                };
                let Some(home) = self.modules.get(&home).filter(|home| home.unit != content.unit) else { continue };
                used.entry(home.unit.clone()).or_insert_with(|| path.join("::"));
            }
        }
        uses
    }
}

/// The circles of a graph: sets of units in which each reaches every other one.
pub fn circles(uses: &BTreeMap<String, BTreeMap<String, String>>) -> Vec<BTreeSet<String>> {
    let reach = |start: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![start.to_owned()];
        while let Some(unit) = open.pop() {
            let next = uses.get(&unit).into_iter().flat_map(BTreeMap::keys);
            open.extend(next.filter(|next| reached.insert((*next).clone())).cloned());
        }
        reached
    };
    let reached: BTreeMap<_, _> = uses.keys().map(|unit| (unit.clone(), reach(unit))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (unit, below) in &reached {
        if !below.contains(unit) || found.iter().any(|circle| circle.contains(unit)) {
            continue;
        }
        found.push(
            below.iter().filter(|other| reached.get(*other).is_some_and(|it| it.contains(unit))).cloned().collect(),
        );
    }
    found
}

/// The module of a file.
fn module(path: &Path) -> Module {
    let mut steps: Module = path.with_extension("").iter().map(|step| step.to_string_lossy().into_owned()).collect();
    if steps.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        steps.pop();
    }
    steps
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Whether a token can follow `mod name`.
fn is_module(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace) || is_punct(token, ';')
}

/// Whether the tokens end with `#[cfg(test)]`, with or without a visibility after it.
fn is_for_tests(before: &[TokenTree]) -> bool {
    let attribute = before.iter().rev().find(|token| !matches!(token, TokenTree::Ident(word) if word == "pub"));
    matches!(attribute, Some(TokenTree::Group(group)) if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

/// Whether the tokens end with `pub` or `pub(…)`.
fn is_visibility(before: &[TokenTree]) -> bool {
    let is_pub = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(word)) if word == "pub");
    match before.last() {
        Some(TokenTree::Group(_)) => is_pub(before.len().checked_sub(2).and_then(|index| before.get(index))),
        last => is_pub(last),
    }
}

/// Whether the tokens end with `#[macro_export]`.
fn is_exported(before: &[TokenTree]) -> bool {
    matches!(before.last(), Some(TokenTree::Group(group)) if group.stream().to_string() == "macro_export")
}

/// The path that begins at a word, and the index of its last token. `a::<T>::b` ends at `a`.
fn path_at(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    let mut index = start;
    while let Some(TokenTree::Ident(word)) = tokens.get(index) {
        path.push(word.to_string());
        if !(is_punct(tokens.get(index + 1), ':') && is_punct(tokens.get(index + 2), ':')) {
            return (path, index);
        }
        index += 3;
    }
    (path, index - 1)
}

/// The names that `use` imports: `a::{b, c as d}` gives `a::b` as b, and `a::c` as d.
fn leaves(tokens: &[TokenTree], above: &[String], is_public: bool, found: &mut Vec<Import>) {
    for part in tokens.split(|token| is_punct(Some(token), ',')) {
        let mut path = above.to_vec();
        let mut renamed = None;
        let mut words = part.iter();
        let mut is_group = false;
        while let Some(token) = words.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => renamed = words.next().map(ToString::to_string),
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == '*' => renamed = Some("*".to_owned()),
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    leaves(&inner, &path, is_public, found);
                    is_group = true;
                }
                _ => {}
            }
        }
        if let Some(last) = path.last()
            && !is_group
            && !part.is_empty()
        {
            found.push(Import { name: renamed.unwrap_or_else(|| last.clone()), path, is_public });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The uses of a crate with these files, as "a -> b".
    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| (Path::new(*path), text.parse().expect("it is Rust")));
        let uses = Crate::new(files).uses();
        uses.iter().flat_map(|(unit, used)| used.keys().map(move |other| format!("{unit} -> {other}"))).collect()
    }

    #[test]
    fn paths_lead_to_the_files_of_their_items() {
        let files = [
            ("lib.rs", "pub mod a; pub mod b;"),
            ("a/mod.rs", "mod c; mod d; pub use c::{C, E as F};"),
            ("a/c.rs", "pub struct C; pub struct E;"),
            ("a/d.rs", "use super::{C, F}; fn f() { super::super::b::g(); }"),
            ("b.rs", "use crate::a; pub fn g() -> a::C { crate::a::F::new() }"),
        ];
        assert_eq!(arrows(&files), ["a/d -> a/c", "a/d -> b", "b -> a/c"], "a/mod.rs only passes names on");
    }

    #[test]
    fn a_parent_that_uses_its_children_is_a_user() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "pub mod c; pub use c::C; list! { c::D } pub trait T {}"),
            ("a/c.rs", "pub struct C; pub struct D; impl super::T for C {}"),
        ];
        assert_eq!(arrows(&files), ["a -> a/c", "a/c -> a"]);
        let files =
            [("lib.rs", "mod a;"), ("a/mod.rs", "mod c; pub use c::C; fn f(c: C) {}"), ("a/c.rs", "pub struct C;")];
        assert_eq!(arrows(&files), ["a -> a/c"], "a name that is passed on and used");
    }

    #[test]
    fn what_tests_use_does_not_count() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod c;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests;"),
            ("a/tests/mod.rs", "use super::*; mod more;"),
            ("a/tests/more.rs", "use crate::b::B;"),
            ("b.rs", "pub struct B; mod inner { use crate::a::A; } mod tests { use super::*; use crate::c::C; }"),
            ("c.rs", "use crate::a::A;"),
        ];
        assert_eq!(arrows(&files), ["b -> a"]);
    }

    #[test]
    fn circles_of_any_length_are_found() {
        let found = circles(&BTreeMap::from([
            ("a".to_owned(), BTreeMap::from([("b".to_owned(), String::new())])),
            ("b".to_owned(), BTreeMap::from([("c".to_owned(), String::new())])),
            ("c".to_owned(), BTreeMap::from([("a".to_owned(), String::new()), ("d".to_owned(), String::new())])),
            ("d".to_owned(), BTreeMap::new()),
        ]));
        assert_eq!(found, [["a", "b", "c"].map(str::to_owned).into()]);
    }

    #[test]
    fn macros_comments_and_other_crates() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "#[macro_export] macro_rules! make { ($x:ident) => { $crate::c::C } }"),
            (
                "b.rs",
                "// crate::c\nuse std::c::C; use other::crate_name; const X: &str = \"crate::c\"; crate::make! { x }",
            ),
            ("c.rs", "pub struct C;"),
        ];
        assert_eq!(arrows(&files), ["a -> c", "b -> a"]);
    }
}
