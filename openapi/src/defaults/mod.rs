//! What a built-in object holds where its author said nothing.
