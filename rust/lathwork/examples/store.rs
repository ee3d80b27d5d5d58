// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A store in memory: counters, and a scan of the keys with one prefix.
use lathwork::{Store, StoreOptions, StoreRange};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store: Store<Vec<u8>> = StoreOptions::new().limit(1 << 30).evict().open("mem:")?;
    store.set(b"user:1", b"ann")?;
    store.incr(b"visits", 1)?;
    for entry in store.scan(StoreRange::all().prefix(b"user:"))? {
        let (key, value) = entry?;
        assert!(key == b"user:1" && value == b"ann");
    }
    Ok(())
}
