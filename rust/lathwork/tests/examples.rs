// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The programs of the book run.
macro_rules! example {
    ($name:ident, $done:expr) => {
        mod $name {
            include!(concat!("../examples/", stringify!($name), ".rs"));

            #[test]
            fn runs() {
                $done(main());
            }
        }
    };
}

example!(first, std::convert::identity::<()>);
example!(locks, Result::unwrap);
#[cfg(feature = "store")]
example!(store, Result::unwrap);
