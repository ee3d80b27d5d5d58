// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! SortQueue beside plain code, and its values.
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

mod counted;
use counted::Counted;

use lathwork::{Options, Order, Refused, SortQueue, Ticket};
use proptest::collection::vec;
use proptest::prelude::*;

/// Requests that wait: sector, number of arrival, ticket.
#[derive(Default)]
struct Model(Vec<(u64, usize, Ticket)>, u64);

impl Model {
    fn next(&self, order: Order) -> Option<usize> {
        let rank = |&(sector, arrival, _): &(u64, usize, Ticket)| match order {
            Order::Arrival => (false, 0, arrival),
            Order::Lowest => (false, sector, arrival),
            _ => (sector < self.1, sector, arrival),
        };
        (0..self.0.len()).min_by_key(|&i| rank(&self.0[i]))
    }
}

fn play(order: Order, steps: &[(u8, u64)]) {
    let mut queue = SortQueue::try_with(20, order, Options::new()).unwrap();
    let mut model = Model::default();
    for (arrival, &(what, sector)) in steps.iter().enumerate() {
        match what {
            0..=3 => match queue.push(sector, arrival.to_string()) {
                Ok(ticket) => model.0.push((sector, arrival, ticket)),
                Err(refused) => {
                    assert_eq!(refused, Refused::Full(arrival.to_string()));
                    assert_eq!(model.0.len(), queue.capacity());
                }
            },
            4 | 5 => {
                let next = model.next(order);
                let seen = queue.peek().map(|(sector, value)| (sector, value.clone()));
                let popped = queue.pop();
                assert_eq!(seen, popped);
                let expected = next.map(|i| model.0.remove(i));
                assert_eq!(popped, expected.map(|(sector, n, _)| (sector, n.to_string())));
                if let Some((sector, _, _)) = expected {
                    model.1 = sector;
                }
            }
            6 if !model.0.is_empty() => {
                let (at, arrival, ticket) = model.0.remove(sector as usize % model.0.len());
                assert_eq!(queue.remove(ticket), Some((at, arrival.to_string())));
                assert_eq!(queue.remove(ticket), None);
            }
            _ if order != Order::Arrival => {
                let first = queue.first_from(sector).map(|(at, _)| at);
                let all = model.0.iter().map(|entry| entry.0);
                assert_eq!(first, all.filter(|&at| at >= sector).min());
            }
            _ => {}
        }
        assert_eq!(queue.len(), model.0.len());
    }
    queue.verify().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn as_plain_code(steps in vec((0..8u8, 0..40u64), 1..200)) {
        for order in [Order::Sweep, Order::Lowest, Order::Arrival] {
            play(order, &steps);
        }
    }
}

#[test]
fn barriers_and_heads() {
    let mut queue = SortQueue::try_new(10).unwrap();
    queue.push(50, 'a').unwrap();
    queue.barrier();
    queue.push(10, 'b').unwrap();
    assert_eq!(queue.pop(), Some((50, 'a')));
    assert_eq!(queue.pop(), Some((10, 'b')));
    queue.push(50, 'c').unwrap();
    queue.push(90, 'd').unwrap();
    assert!(queue.set_head(60) && !queue.set_head(1 << 44));
    assert_eq!((queue.head(), queue.pop()), (60, Some((90, 'd'))));
    assert_eq!(queue.push(1 << 44, 'e'), Err(Refused::Sector('e')));
}

#[test]
fn a_ticket_of_one_that_has_left() {
    let mut queue = SortQueue::try_new(1).unwrap();
    let first = queue.push(5, "first").unwrap();
    assert_eq!(queue.pop(), Some((5, "first")));
    let second = queue.push(6, "second").unwrap(); // in the same place
    assert_eq!(queue.remove(first), None);
    assert_eq!(queue.remove(second), Some((6, "second")));
}

#[test]
fn values_are_dropped_once() {
    for bomb in [None, Some(3)] {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut queue = SortQueue::try_new(9).unwrap();
        for n in 0..9 {
            let value = Counted::bomb(n, &alive, bomb == Some(n));
            queue.push(n, value).ok().unwrap();
        }
        drop(queue.pop());
        assert_eq!(alive.load(SeqCst), 8);
        let ended = catch_unwind(AssertUnwindSafe(|| drop(queue)));
        assert_eq!((ended.is_err(), alive.load(SeqCst)), (bomb.is_some(), 0));
    }
}
