//! Where the cells of the demonstration are.

/// The code of a city's airport, and the region of the world that the city is in.
pub(super) type City = (&'static str, &'static str);

/// The first three are as far apart as can be.
const CITIES: [City; 20] = [
    ("dfw", "north-america"),
    ("ams", "europe"),
    ("nrt", "asia"),
    ("gru", "south-america"),
    ("syd", "oceania"),
    ("jnb", "africa"),
    ("fra", "europe"),
    ("iad", "north-america"),
    ("sin", "asia"),
    ("lhr", "europe"),
    ("ord", "north-america"),
    ("bom", "asia"),
    ("cdg", "europe"),
    ("lax", "north-america"),
    ("scl", "south-america"),
    ("hkg", "asia"),
    ("waw", "europe"),
    ("sea", "north-america"),
    ("akl", "oceania"),
    ("cpt", "africa"),
];

/// A cell: what it is called, and where it is. There may be more cells than cities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) name: String,
    pub(super) city: City,
}

/// So many of them, the same ones each time.
pub(super) fn sites(number: usize) -> impl Iterator<Item = Site> {
    (0..number).map(|index| {
        let city = CITIES[index % CITIES.len()];
        let name = match index / CITIES.len() {
            0 => city.0.to_owned(),
            round => format!("{}-{}", city.0, round + 1),
        };
        Site { name, city }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cell_has_a_name_of_its_own_and_a_city() {
        let all: Vec<Site> = sites(45).collect();
        let names: BTreeSet<&str> = all.iter().map(|site| site.name.as_str()).collect();
        assert_eq!(names.len(), 45);
        assert_eq!((all[0].name.as_str(), all[20].name.as_str(), all[40].name.as_str()), ("dfw", "dfw-2", "dfw-3"));
        assert_eq!(all[40].city, all[0].city);
    }
}
