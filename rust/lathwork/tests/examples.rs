// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The programs of the book run.
macro_rules! example {
    ($name:ident) => {
        mod $name {
            include!(concat!("../examples/", stringify!($name), ".rs"));

            #[test]
            fn runs() {
                super::done(main());
            }
        }
    };
}

/// What `main()` returns, with or without a result.
trait Done {
    fn done(self);
}

impl Done for () {
    fn done(self) {}
}

impl Done for Result<(), Box<dyn std::error::Error>> {
    fn done(self) {
        self.unwrap();
    }
}

fn done(what: impl Done) {
    what.done();
}

example!(first);
example!(locks);
#[cfg(feature = "store")]
example!(store);
