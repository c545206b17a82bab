//! The columns that `kubectl get` shows, kind by kind.
