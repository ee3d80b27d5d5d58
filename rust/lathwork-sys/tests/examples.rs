// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The example runs.
mod calls {
    include!("../examples/calls.rs");

    #[test]
    fn runs() {
        main();
    }
}
