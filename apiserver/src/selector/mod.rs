//! Which objects are meant: label selectors and field selectors.
