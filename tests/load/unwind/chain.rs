// SPDX-License-Identifier: MIT

//! As chain.c, in Rust: trait objects, closures; panics that unwind through frames with destructors.
//!
//!	main ─ outer ┬─ middle ─ inner ─ leaf
//!	             ├─ sorted ─ (sort_by) ─ compare ─ leaf
//!	             ├─ Square::walk ─ inner ─ leaf
//!	             ├─ apply ─ (closure) ─ leaf
//!	             └─ guard ─ risky ─ thrower ─ (the panic unwinds)
use std::cmp::Ordering;
use std::io::Write;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const TURNS: u64 = 20000;

static SINK: AtomicU64 = AtomicU64::new(0);

struct Noisy(String);

impl Drop for Noisy {
    #[inline(never)]
    fn drop(&mut self) {
        add(self.0.len() as u64);
    }
}

fn add(n: u64) {
    SINK.store(SINK.load(Relaxed).wrapping_add(n), Relaxed);
}

#[inline(never)]
fn leaf(turns: u64) {
    for i in 0..turns {
        add(i * i);
    }
}

#[inline(never)]
fn inner(turns: u64) {
    leaf(turns);
    add(1);
}

#[inline(never)]
fn middle(turns: u64) {
    inner(turns);
    add(1);
}

#[inline(never)]
fn compare(a: &u64, b: &u64) -> Ordering {
    leaf(TURNS / 400);
    add(1);
    a.cmp(b)
}

#[inline(never)]
fn sorted() {
    let mut v: Vec<u64> = (0..64).map(|i| (i * 7919) % 64).collect();

    v.sort_by(|a, b| compare(a, b));
    add(v[2]);
}

trait Shape {
    fn walk(&self, turns: u64);
}

struct Square(u64);

impl Shape for Square {
    #[inline(never)]
    fn walk(&self, turns: u64) {
        let noisy = Noisy(format!("side {}", self.0));

        inner(turns);
        add(noisy.0.len() as u64);
    }
}

#[inline(never)]
fn apply(call: &dyn Fn(u64), turns: u64) {
    call(turns);
    add(1);
}

#[inline(never)]
fn thrower(i: u64) {
    if i < TURNS {
        panic::resume_unwind(Box::new(i));
    }
    add(1);
}

#[inline(never)]
fn risky(i: u64) {
    let noisy = Noisy("to be dropped on the way".to_string());

    thrower(i);
    add(noisy.0.len() as u64);
}

#[inline(never)]
fn guard() {
    for i in 0..3 {
        if let Err(e) = panic::catch_unwind(|| risky(i)) {
            add(*e.downcast::<u64>().unwrap());
        }
    }
}

#[inline(never)]
fn outer(shape: &dyn Shape) {
    middle(TURNS);
    sorted();
    shape.walk(TURNS);
    apply(&|turns| leaf(turns), TURNS);
    guard();
    add(1);
}

fn main() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    let shape: Box<dyn Shape> = Box::new(Square(7));

    loop {
        outer(&*shape);
    }
}
