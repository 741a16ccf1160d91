//! What lies around a repository: an ignored `.env`, and a database on this machine's loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};

use crate::place::{Place, Project, proves, tiers, tiers_of};

#[test]
fn an_ignored_env_file_that_a_test_reads() {
    proves(&Project {
        needs: &[],
        files: &[
            ("sq.sh", "echo 0\n"),
            ("tests/run.sh", ". ./.env\ntest \"$API_TOKEN:$(sh sq.sh 7)\" = hunter2hunter2:49\n"),
            (".gitignore", ".env\n"),
        ],
        prepare: &["echo API_TOKEN=hunter2hunter2 > .env"],
        check: "sh tests/run.sh",
        work: ("sq.sh", "echo $(($1 * $1))\n"),
    });
}

/// Answers each line with the same row, until the test ends.
fn database() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut asked = String::new();
            let mut reader = BufReader::new(connection.try_clone().expect("cloned"));
            if reader.read_line(&mut asked).is_ok() && asked.starts_with("SELECT") {
                // The client may have gone.
                drop(connection.write_all(b"49\n"));
            }
        }
    });
    port
}

const DATABASE: Project = Project {
    needs: &["python3"],
    files: &[
        ("tests/__init__.py", ""),
        ("sq.py", "def sq(n):\n    return 0\n"),
        (
            "tests/test_sq.py",
            "import socket
import unittest

from sq import sq


class SqTest(unittest.TestCase):
    def test_sq(self):
        with open('.port') as file, socket.create_connection(('127.0.0.1', int(file.read()))) as database:
            database.sendall(b'SELECT 7 * 7\\n')
            self.assertEqual(str(sq(7)), database.recv(100).decode().strip())
",
        ),
        (".gitignore", "__pycache__/\n.port\n"),
    ],
    prepare: &[],
    check: "python3 -m unittest discover -s tests -t .",
    work: ("sq.py", "def sq(n):\n    return n * n\n"),
};

#[test]
fn a_database_of_this_machine() {
    let port = database();
    for tier in tiers(DATABASE.needs) {
        let place = Place::of(&DATABASE, &format!("services: [{port}]"));
        place.write(".port", &port.to_string());
        let ran = place.run(&DATABASE, tier);
        assert!(ran.is_proven(), "{tier}: {}", ran.told);
    }
}

/// The check is red in the tree, too, but for the work that is to be done.
#[test]
fn a_database_that_nobody_named() {
    let port = database();
    for tier in tiers_of(DATABASE.needs, &["full"]) {
        let place = Place::of(&DATABASE, "");
        place.write(".port", &port.to_string());
        let ran = place.run(&DATABASE, tier);
        assert!(ran.needs("services: [5432]"), "{tier}: {}", ran.told);
    }
}
