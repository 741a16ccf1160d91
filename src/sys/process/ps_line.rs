//! One line of `ps -o pid=,ppid=,pgid=,stat=,lstart=,command=`.

use chrono::NaiveDateTime;

use super::info::ProcessInfo;

/// Parses a line into a process without its session, and its command line.
pub(super) fn parse(line: &str) -> Option<(ProcessInfo, &str)> {
    let mut rest = line;
    let mut next = || {
        let (word, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(word)
    };
    let numbers = [next()?, next()?, next()?];
    let [pid, parent, group] = numbers.map(|word| word.parse::<u32>().ok());
    let state = next()?;
    let _weekday = next()?;
    let date = [next()?, next()?, next()?, next()?].join(" ");
    let start = NaiveDateTime::parse_from_str(&date, "%b %d %H:%M:%S %Y").ok()?;
    let found = ProcessInfo {
        pid: pid?,
        parent: parent?,
        group: group?,
        session: 0,
        zombie: state.starts_with('Z'),
        start: start.and_utc().timestamp().cast_unsigned(),
    };
    Some((found, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parsed_with_its_date_and_command_line() {
        let line =
            "  501     1   501 Ss+  Mon Nov  2 09:03:07 2026 /bin/sh -c x RALPH_RUN_ID=a-1 B=c d";
        let (found, words) = parse(line).expect("a process");
        let start = 1_793_610_187; // date -u -d '2026-11-02 09:03:07' +%s
        let expected =
            ProcessInfo { pid: 501, parent: 1, group: 501, session: 0, zombie: false, start };
        assert_eq!((found, words), (expected, "/bin/sh -c x RALPH_RUN_ID=a-1 B=c d"));
        let zombie = parse("7 1 7 Z    Sun Nov 22 09:03:07 2026 (sh)").expect("a process");
        assert!(zombie.0.zombie);
        for cut in ["", "7 1 7 S", "7 1 7 S Sun Nov 22 2026 sh", "a b c S Sun Nov 2 9:3:7 2026 x"] {
            assert_eq!(parse(cut), None, "{cut}");
        }
    }
}
