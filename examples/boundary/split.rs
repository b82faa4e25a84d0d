//! Cuts a file by all cores, exactly, with the functions of cleave_scan.h: see split.c, which does the same.
//!
//!     split FILE PIECES PREFIX        writes PREFIX.0, PREFIX.1 ...
//!
//!     c++ -std=c++20 -O2 -c cleave_scan.cpp
//!     rustc -O split.rs -C link-arg=cleave_scan.o -C link-arg=-lstdc++
use std::os::raw::c_void;
use std::{env, fs, process, thread};

#[repr(C)]
struct Dialect {
    quote: i16,
    escape: i16,
    delimiter: u8,
    terminator: u8,
    quoting: u8,
    escape_scope: u8,
}

#[repr(C)]
struct State {
    version: u32,
    state: u32,
    offset: u64,
    open_quote: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Summary([u64; 59]); // 472 bytes, for cleave_resolve() alone to read

#[repr(C)]
#[derive(Default)]
struct Range {
    records: u64,
    first: u64,
    last: u64,
}

extern "C" {
    fn cleave_scan_begin(dialect: *const Dialect) -> State;
    fn cleave_summarise(dialect: *const Dialect, begin: u64, bytes: *const c_void, size: usize, out: *mut Summary) -> i32;
    fn cleave_resolve(summary: *const Summary, state: *mut State, range: *mut Range) -> i32;
}

const CSV: Dialect = Dialect { quote: b'"' as i16, escape: -1, delimiter: b',', terminator: 0, quoting: 0, escape_scope: 0 };

fn main() {
    let words: Vec<String> = env::args().collect();
    let count = if words.len() == 4 { words[2].parse().unwrap_or(0) } else { 0 };
    if count == 0 {
        eprintln!("usage: split FILE PIECES PREFIX");
        process::exit(2);
    }
    let text = fs::read(&words[1]).expect("the file cannot be read");
    let mut summaries = vec![Summary([0; 59]); count];
    thread::scope(|scope| {
        for (i, summary) in summaries.iter_mut().enumerate() {
            let begin = text.len() * i / count;
            let part = &text[begin..text.len() * (i + 1) / count];
            scope.spawn(move || {
                // SAFETY: the part and the summary outlive the call, and nobody else writes the summary.
                unsafe { cleave_summarise(&CSV, begin as u64, part.as_ptr().cast(), part.len(), summary) }
            });
        }
    });

    // SAFETY: cleave_scan_begin() only reads the dialect.
    let mut state = unsafe { cleave_scan_begin(&CSV) };
    let mut begins = vec![text.len() as u64; count + 1];
    let mut records = 0;
    for (begin, summary) in begins.iter_mut().zip(&summaries) {
        let mut found = Range::default();
        // SAFETY: all three are values of this function.
        assert_eq!(unsafe { cleave_resolve(summary, &mut state, &mut found) }, 0);
        records += found.records;
        *begin = found.first;
    }
    for i in (0..count).rev() {
        begins[i] = begins[i].min(begins[i + 1]); // a range without a record start leaves its piece empty
    }
    thread::scope(|scope| {
        for (i, ends) in begins.windows(2).enumerate() {
            let piece = &text[ends[0] as usize..ends[1] as usize];
            let name = format!("{}.{}", words[3], i);
            scope.spawn(move || fs::write(name, piece).expect("a piece cannot be written"));
        }
    });
    println!("{records} records");
}
