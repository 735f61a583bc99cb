//! Variables of the environment that no setting reads, which are mistakes in their names.

/// Logs a warning about each variable with the prefix of the settings that is neither known nor another program's.
pub(super) fn warn_of_unknown(present: impl IntoIterator<Item = String>, known: &[&str]) {
    for variable in present {
        if is_unknown(&variable, known) {
            let nearest = nearest(&variable, known);
            tracing::warn!(variable, nearest, "a variable of the environment is not known");
        }
    }
}

fn is_unknown(variable: &str, known: &[&str]) -> bool {
    let is_of_kubernetes = OF_KUBERNETES.iter().any(|prefix| variable.starts_with(prefix));
    let is_of_another = OF_THE_COMMAND.contains(&variable) || is_of_kubernetes;
    variable.starts_with(PREFIX) && !known.contains(&variable) && !is_of_another
}

/// Returns the known name that differs least, if it differs in few letters.
fn nearest<'a>(variable: &str, known: &[&'a str]) -> Option<&'a str> {
    let by_distance = known.iter().map(|name| (distance(variable, name), *name));
    let (distance, name) = by_distance.min()?;
    (distance * 3 <= variable.len() - PREFIX.len()).then_some(name)
}

/// Returns the number of letters to insert, to delete or to replace.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<_> = (0..=other.len()).collect();
    for (above, mine) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (left, theirs) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(mine != theirs);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(diagonal + 1).min(row[left] + 1);
        }
    }
    row[other.len()]
}

const PREFIX: &str = "ZKLOCK_";
/// The variables that the command `zklock` gives to programs, and the one that names its own file.
const OF_THE_COMMAND: [&str; 3] = ["ZKLOCK_CONFIG", "ZKLOCK_PATH", "ZKLOCK_TOKEN"];

/// The beginnings of the variables that Kubernetes gives to pods beside a service with the name `zklock`.
const OF_KUBERNETES: [&str; 2] = ["ZKLOCK_PORT", "ZKLOCK_SERVICE_"];

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["ZKLOCK_CONNECT", "ZKLOCK_CONNECT_TIMEOUT", "ZKLOCK_SESSION_TIMEOUT"];

    #[test]
    fn a_variable_that_no_program_has_is_unknown() {
        for unknown in ["ZKLOCK_SESION_TIMEOUT", "ZKLOCK_", "ZKLOCK_connect"] {
            assert!(is_unknown(unknown, &KNOWN), "{unknown}");
        }
        let of_kubernetes = ["ZKLOCK_PORT_2181_TCP_ADDR", "ZKLOCK_SERVICE_HOST"];
        assert!(!of_kubernetes.iter().any(|variable| is_unknown(variable, &KNOWN)));
        for known in ["ZKLOCK_CONNECT", "ZKLOCK_TOKEN", "ZKLOCK_PATH", "ZKLOCK_CONFIG", "PATH", "MY_ZKLOCK_X"]
        {
            assert!(!is_unknown(known, &KNOWN), "{known}");
        }
    }

    #[test]
    fn the_nearest_name_is_one_that_differs_in_few_letters() {
        for (variable, expected) in [
            ("ZKLOCK_SESION_TIMEOUT", Some("ZKLOCK_SESSION_TIMEOUT")),
            ("ZKLOCK_CONNECTTIMEOUT", Some("ZKLOCK_CONNECT_TIMEOUT")),
            ("ZKLOCK_CONECT", Some("ZKLOCK_CONNECT")),
            ("ZKLOCK_connect", None),
            ("ZKLOCK_HOSTS", None),
            ("ZKLOCK_", None),
        ] {
            assert_eq!(nearest(variable, &KNOWN), expected, "{variable}");
        }
    }

    #[test]
    fn a_distance_counts_letters() {
        for (one, other, expected) in
            [("", "ab", 2), ("kitten", "sitting", 3), ("abc", "abc", 0), ("ab", "ba", 2)]
        {
            assert_eq!((distance(one, other), distance(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
