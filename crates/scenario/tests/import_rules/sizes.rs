//! How many functions a seam has, and how many fields an object that many parts share.
//!
//! A function that a single model answers does not belong to a seam; a seam that grows is found here.

use std::fs;
use std::path::PathBuf;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{root, sources, tokens};

/// The seams of the model: file, trait, and how many functions it may have.
const SEAMS: &[(&str, &str, usize)] = &[
    ("model/src/agent/protocol.rs", "Agent", 8),
    ("hosts/src/app/application.rs", "Application", 4),
    ("hosts/src/host/endpoint.rs", "Endpoint", 8),
    ("model/src/link/queue/discipline.rs", "QueueDiscipline", 6),
    ("model/src/mac/protocol.rs", "Mac", 16),
    ("model/src/mac/rate_control/control.rs", "RateControl", 5),
    ("model/src/mobility/leg.rs", "Mobility", 2),
    ("model/src/phy/fading/signal.rs", "Fading", 3),
    ("model/src/phy/propagation/path_loss.rs", "PathLoss", 5),
    ("model/src/routing/protocol.rs", "Routing", 12),
    ("model/src/routing/protocol.rs", "Routes", 8),
    ("hosts/src/transport/congestion/control/congestion_control.rs", "CongestionControl", 15),
    ("hosts/src/transport/connection/receiving_end.rs", "ReceivingEnd", 5),
    ("hosts/src/transport/connection/sending_end.rs", "SendingEnd", 11),
    ("hosts/src/transport/recovery/mod.rs", "LossRecovery", 8),
];

/// The objects that many parts share: file, struct, and how many fields it may have.
const OBJECTS: &[(&str, &str, usize)] = &[
    ("model/src/world/mod.rs", "World", 16),
    ("net/src/context.rs", "Context", 19),
    // Thirty keys of [tcp], and the tables [tcp.keep_alive] and [tcp.linux].
    ("hosts/src/transport/connection/params.rs", "Params", 32),
    // What one sender notes beside lies with that sender.
    ("hosts/src/transport/connection/scoreboard.rs", "Segment", 8),
];

/// The braces behind two tokens, such as `trait Mac`, or `probe !` where a macro is called.
fn body(file: TokenStream, kind: &str, name: &str) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = file.into_iter().collect();
    let is = |token: Option<&TokenTree>, word: &str| token.is_some_and(|it| it.to_string() == word);
    let start = (0..tokens.len()).find(|&i| is(tokens.get(i), kind) && is(tokens.get(i + 1), name))?;
    tokens[start..].iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    })
}

fn functions(body: TokenStream) -> usize {
    body.into_iter().filter(|token| matches!(token, TokenTree::Ident(it) if it == "fn")).count()
}

/// A field is a name before a single colon, outside of the brackets of types.
fn fields(body: TokenStream) -> usize {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let is =
        |place: usize, wanted: char| matches!(tokens.get(place), Some(TokenTree::Punct(it)) if it.as_char() == wanted);
    let (mut depth, mut count) = (0, 0);
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(it) if it.as_char() == '<' => depth += 1,
            // The arrow of a function's type closes nothing.
            TokenTree::Punct(it) if it.as_char() == '>' && !(place > 0 && is(place - 1, '-')) => depth -= 1,
            TokenTree::Ident(_)
                if depth == 0 && is(place + 1, ':') && !is(place + 2, ':') && !(place > 0 && is(place - 1, ':')) =>
            {
                count += 1;
            }
            _ => {}
        }
    }
    count
}

fn too_large(items: &[(&str, &str, usize)], kind: &str, count: fn(TokenStream) -> usize) -> Vec<String> {
    let mut faults = Vec::new();
    for &(file, name, most) in items {
        let path = root().join("crates").join(file);
        let body = body(tokens(&path), kind, name);
        let found = body.map(count).unwrap_or_else(|| panic!("{}: no {kind} {name}", path.display()));
        if found > most || found == 0 {
            faults.push(format!("{file}: {kind} {name} has {found}; expected 1 to {most}"));
        }
    }
    faults
}

#[test]
fn seams_and_shared_objects_keep_their_size() {
    let mut faults = too_large(SEAMS, "trait", functions);
    // The call of the macro that makes the trait lists its functions, besides `watches` and `report`.
    faults.extend(too_large(&[("model/src/observe/probe.rs", "!", 9)], "probe", functions));
    faults.extend(too_large(OBJECTS, "struct", fields));
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn functions_and_fields_are_counted() {
    let text = "trait A { const X: u8; fn a(&self) -> u8; fn b<T: C>(&self) { let c: u8 = 3; } } \
                struct W<P: D = ()> { pub a: Vec<(u8, b::C)>, b: BTreeMap<u8, fn(u8) -> u8>, c: d::E }";
    let of = |kind: &str, name: &str| body(text.parse().expect("it is Rust"), kind, name).expect("it is there");
    assert_eq!((functions(of("trait", "A")), fields(of("struct", "W"))), (2, 3));
}

/// The most lines that a file may have, its tests included.
const MOST_LINES: usize = 700;

#[test]
fn no_file_is_too_long() {
    let mut files = Vec::new();
    for folder in ["bench", "crates", "ebpf", "fuzz", "python", "studies", "tests", "validation"] {
        for extension in ["rs", "py", "pyi"] {
            sources(&root().join(folder), extension, &mut files);
        }
    }
    assert!(files.len() > 1000, "all files are found: {}", files.len());
    let lines = |path: &PathBuf| fs::read_to_string(path).expect("UTF-8").lines().count();
    let long: Vec<_> = files.iter().map(|path| (lines(path), path)).filter(|(lines, _)| *lines > MOST_LINES).collect();
    assert!(long.is_empty(), "{long:#?}");
}
