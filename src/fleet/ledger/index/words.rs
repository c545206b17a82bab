//! What many records say in the same words, kept once: a record has the number of a word.

use super::{Number, numbered};
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// It holds as much as is said: a word that nobody says any more is forgotten.
#[derive(Debug, Default)]
pub(super) struct Words {
    hasher: RandomState,
    all: Vec<Option<Word>>,
    free: Vec<Number>,
    by_text: HashTable<Number>,
}

#[derive(Debug)]
struct Word {
    text: Box<str>,
    /// How often it is said.
    times: u32,
}

impl Words {
    /// Says a word once more.
    pub(super) fn say(&mut self, text: &str) -> Number {
        if let Some(number) = self.number(text) {
            if let Some(Some(word)) = self.all.get_mut(number as usize) {
                word.times += 1;
            }
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            numbered(self.all.len() - 1)
        });
        self.all[number as usize] = Some(Word { text: text.into(), times: 1 });
        let Self { hasher, all, by_text, .. } = self;
        let hash = |number: &Number| hasher.hash_one(text_of(all, *number));
        by_text.insert_unique(hash(&number), number, hash);
        number
    }

    /// Says it once less.
    pub(super) fn unsay(&mut self, number: Number) {
        let Some(Some(word)) = self.all.get_mut(number as usize) else { return };
        word.times -= 1;
        if word.times > 0 {
            return;
        }
        let hash = self.hasher.hash_one(&*word.text);
        if let Ok(found) = self.by_text.find_entry(hash, |other| *other == number) {
            found.remove();
        }
        self.all[number as usize] = None;
        self.free.push(number);
    }

    /// The number of a word that somebody says.
    pub(super) fn number(&self, text: &str) -> Option<Number> {
        self.by_text.find(self.hasher.hash_one(text), |number| self.text(*number) == text).copied()
    }

    pub(super) fn text(&self, number: Number) -> &str {
        text_of(&self.all, number)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_text.len()
    }
}

fn text_of(all: &[Option<Word>], number: Number) -> &str {
    all.get(number as usize).and_then(Option::as_ref).map_or("", |word| &word.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_one_number_for_as_long_as_it_is_said() {
        let mut words = Words::default();
        let (one, other) = (words.say("one"), words.say("other"));
        assert_eq!((words.say("one"), words.text(one), words.text(other)), (one, "one", "other"));
        words.unsay(one);
        assert_eq!(words.number("one"), Some(one), "it was said twice");
        words.unsay(one);
        assert_eq!((words.number("one"), words.text(one), words.len()), (None, "", 1));
        assert_eq!(words.say("third"), one, "numbers are used again");
        assert_eq!(words.number("other"), Some(other));
    }

    #[test]
    fn many_words_are_found_and_forgotten() {
        let mut words = Words::default();
        let all: Vec<(String, Number)> =
            (0..5000).map(|nth| format!("w{nth}")).map(|text| (text.clone(), words.say(&text))).collect();
        assert!(all.iter().all(|(text, number)| words.number(text) == Some(*number) && words.text(*number) == text));
        all.iter().for_each(|(_, number)| words.unsay(*number));
        assert_eq!(words.len(), 0);
        assert_eq!(words.free.len(), all.len());
    }
}
