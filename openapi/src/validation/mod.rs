//! What a built-in object must not say.
