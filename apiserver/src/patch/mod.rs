//! The three ways to say what should be different: JSON patch, merge patch, strategic merge patch.
