//! What a cell serves, found by kind and by plural: whoever looks after a copy asks each time. Most cells of a fleet
//! serve the same, and share one of these.

use super::api::CellResource;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// As the cell lists them: the preferred version of a kind first.
    all: Vec<CellResource>,
    /// Places in `all`, in the order of groups and kinds.
    by_kind: Vec<usize>,
    /// The same in the order of groups and plurals.
    by_plural: Vec<usize>,
}

fn kind(of: &CellResource) -> (&str, &str) {
    (&of.group, &of.kind)
}

fn plural(of: &CellResource) -> (&str, &str) {
    (&of.group, &of.plural)
}

impl Served {
    pub fn new(all: Vec<CellResource>) -> Self {
        // Stable: what is preferred stays first.
        let sorted = |name: fn(&CellResource) -> (&str, &str)| {
            let mut places: Vec<usize> = (0..all.len()).collect();
            places.sort_by_key(|at| name(&all[*at]));
            places
        };
        Self { by_kind: sorted(kind), by_plural: sorted(plural), all }
    }

    /// Nobody has asked yet, or the cell keeps nothing.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &CellResource> {
        self.all.iter()
    }

    /// A kind in all versions, the preferred one first.
    pub fn of_kind<'a>(&'a self, group: &str, of: &str) -> impl Iterator<Item = &'a CellResource> + Clone + use<'a> {
        self.find(&self.by_kind, kind, (group, of))
    }

    /// A resource in all versions, the preferred one first.
    pub fn of_plural<'a>(&'a self, group: &str, of: &str) -> impl Iterator<Item = &'a CellResource> + Clone + use<'a> {
        self.find(&self.by_plural, plural, (group, of))
    }

    fn find<'a>(
        &'a self,
        places: &'a [usize],
        name: fn(&CellResource) -> (&str, &str),
        wanted: (&str, &str),
    ) -> impl Iterator<Item = &'a CellResource> + Clone + use<'a> {
        let first = places.partition_point(|at| name(&self.all[*at]) < wanted);
        let more = places[first..].partition_point(|at| name(&self.all[*at]) == wanted);
        places[first..first + more].iter().map(|at| &self.all[*at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_plurals_are_found_with_the_preferred_version_first() {
        let served = |group: &str, version: &str, plural: &str, kind: &str| CellResource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
        };
        let served = Served::new(vec![
            served("scale", "v2", "scalers", "Scaler"),
            served("", "v1", "maps", "Map"),
            served("scale", "v1", "scalers", "Scaler"),
            served("scale", "v1", "ladders", "Ladder"),
        ]);
        let versions = |found: Vec<&CellResource>| -> String {
            found.iter().map(|found| format!("{}/{} ", found.version, found.kind)).collect()
        };
        assert_eq!(versions(served.of_kind("scale", "Scaler").collect()), "v2/Scaler v1/Scaler ");
        assert_eq!(versions(served.of_plural("scale", "scalers").collect()), "v2/Scaler v1/Scaler ");
        assert_eq!(versions(served.of_plural("", "maps").collect()), "v1/Map ");
        assert_eq!(versions(served.of_kind("scale", "scalers").collect()), "");
        assert_eq!(versions(served.of_kind("", "Scaler").collect()), "");
        assert_eq!(served.iter().count(), 4);
    }
}
