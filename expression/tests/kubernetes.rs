//! Laws of the functions that Kubernetes adds: no text breaks them, and what they give holds together.

use expression::{Budget, Declared, Environment, Error, Input, Type, Value, kubernetes};
use proptest::prelude::*;
use serde_json::json;

fn environment() -> Environment {
    let environment = kubernetes::libraries().into_iter().fold(Environment::new(), Environment::with);
    let environment = environment.with(kubernetes::json_patch());
    environment.variable("a", Declared::string()).variable("b", Declared::string())
}

/// Runs an expression on two texts, and tells what becomes of it.
fn run<T>(text: &str, a: &str, b: &str, tell: impl Fn(Result<Value<'_>, Error>) -> T) -> T {
    let program = environment().compile(text, &Type::Dyn).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (a, b) = (json!(a), json!(b));
    let inputs = [("a", Input::Json(&a)), ("b", Input::Json(&b))];
    tell(program.run(&inputs, &mut Budget::from(10_000_000)))
}

fn holds(text: &str, a: &str, b: &str) -> Result<bool, Error> {
    run(text, a, b, |value| value.map(|value| value.as_bool() == Some(true)))
}

const READERS: [&str; 24] = [
    "quantity(a).add(1).sub(quantity('1m')).asApproximateFloat()",
    "quantity(a).compareTo(quantity(b))",
    "[url(a).getHost(), url(a).getHostname(), url(a).getPort(), url(a).getEscapedPath()]",
    "url(a).getQuery()",
    "url(a) == url(b)",
    "[ip(a).isGlobalUnicast(), ip(a).isLinkLocalMulticast(), ip.isCanonical(a)]",
    "cidr(a).masked().containsIP(b) || cidr(a).containsCIDR(b)",
    "semver(a, true).compareTo(semver(b))",
    "a.format([1, 2.5, b, [b], {b: 1}, b'\\xff', null, duration('1s')])",
    "a.replace(b, a + b)",
    "a.split(b).join(b)",
    "a.split('', 3)",
    "[a.indexOf(b, 2), a.lastIndexOf(b, 2)]",
    "a.substring(1, 3) + a.charAt(2)",
    "strings.quote(a).upperAscii().trim()",
    "a.find(b)",
    "a.findAll(b, 3)",
    "a.matches(b)",
    "jsonpatch.escapeKey(a)",
    "['dns1123Label', 'dns1123SubdomainPrefix', 'dns1035Label', 'qualifiedName', 'labelValue'].map(n, format.named(n).value().validate(a))",
    "['uri', 'uuid', 'byte', 'date', 'datetime'].map(n, format.named(n).value().validate(a))",
    "timestamp(a).getHours(b)",
    "duration(a) + duration(b)",
    "[[a, b].sort(), [a, b].distinct(), [a, b].reverse(), [[a], [b]].flatten()]",
];

fn pieces() -> impl Strategy<Value = String> {
    let pieces = vec![
        "1",
        "0",
        "25",
        ".",
        "-",
        "+",
        ":",
        "::",
        "/",
        "%",
        "%41",
        "@",
        "[",
        "]",
        "a",
        "Z",
        "é",
        "😀",
        " ",
        "Ki",
        "e9",
        "m",
        "T",
        "v",
        "?",
        "#",
        "&",
        "=",
        "\\",
        "(",
        ")",
        "*",
        "{2}",
        "%s",
        "%d",
        "%.2f",
        "2024-01-01",
        "http",
        "\n",
        "\u{301}",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_breaks_a_function(a in prop_oneof![pieces(), "\\PC{0,12}"], b in prop_oneof![pieces(), "\\PC{0,6}"]) {
        for reader in READERS {
            run(reader, &a, &b, |_| ());
        }
    }

    #[test]
    fn what_can_be_read_is_said_to_be_readable(a in pieces()) {
        for (test, reader) in [("isQuantity", "quantity"), ("isIP", "ip"), ("isCIDR", "cidr"), ("isSemver", "semver"), ("isURL", "url")] {
            let is_readable = run(&format!("{reader}(a)"), &a, "", |value| value.is_ok());
            prop_assert_eq!(holds(&format!("{test}(a)"), &a, ""), Ok(is_readable), "{} {}", test, a);
        }
    }

    #[test]
    fn what_was_split_can_be_joined(a in pieces(), b in pieces()) {
        prop_assert_eq!(holds("a.split(b).join(b) == a", &a, &b), Ok(true));
    }

    #[test]
    fn orders_are_orders(a in "[0-9]{1,3}(\\.[0-9]{1,3})?(m|k|Ki|e2)?", b in "[0-9]{1,3}(\\.[0-9]{1,3})?(m|k|Ki|e2)?") {
        prop_assert_eq!(holds("quantity(a).compareTo(quantity(b)) == -quantity(b).compareTo(quantity(a))", &a, &b), Ok(true));
        prop_assert_eq!(holds("quantity(a).sub(quantity(b)).add(quantity(b)) == quantity(a)", &a, &b), Ok(true));
    }

    #[test]
    fn an_address_is_in_every_network_around_it(a in any::<u32>(), bits in 0u8..=32) {
        let address = std::net::Ipv4Addr::from_bits(a).to_string();
        prop_assert_eq!(holds("cidr(a + b).masked().containsIP(a)", &address, &format!("/{bits}")), Ok(true));
    }
}

#[test]
fn what_would_be_too_long_is_not_made() {
    let long = "x".repeat(100_000);
    for expression in ["a.replace('', a)", "a.split('').join(a)", "a.split('').map(c, a).join()"] {
        run(expression, &long, "", |value| assert_eq!(value.map(|_| ()), Err(Error::Cost), "{expression}"));
    }
    run("'%.999999999f'.format([1.5])", "", "", |value| assert_eq!(value.map(|_| ()), Err(Error::Cost)));
}
