//! Node: npm, pnpm, and a workspace in a subfolder.

use crate::place::{Project, proves};

/// A dependency as a tarball, as a registry would send it.
const PACK: &str = r#"mkdir ../shout && cd ../shout
echo '{"name": "shout", "version": "1.0.0", "main": "shout.js", "bin": "cli.js"}' > package.json
echo 'module.exports = text => text.toUpperCase() + "!";' > shout.js
printf '#!/usr/bin/env node\nconsole.log(module.require("./shout.js")(process.argv[2]));\n' > cli.js
npm pack --silent"#;
const COMMIT: &str = "git add --all && git commit --quiet --message lock";

const PACKAGE: &str = r#"{
  "name": "greet",
  "version": "1.0.0",
  "scripts": {"test": "shout starting && node --test tests/"},
  "dependencies": {"shout": "file:../shout/shout-1.0.0.tgz"}
}
"#;
const TEST: &str = "const test = require('node:test');
const assert = require('node:assert');
const { greet } = require('../greet.js');

test('greets', () => assert.strictEqual(greet('a'), 'HI A!'));
";
const GREET: &str =
    "const shout = require('shout');\n\nexports.greet = name => shout(`hi ${name}`);\n";
const NOTHING: &str = "exports.greet = name => '';\n";

#[test]
fn npm() {
    proves(&Project {
        needs: &["node", "npm"],
        files: &[
            ("package.json", PACKAGE),
            ("greet.js", NOTHING),
            ("tests/greet.test.js", TEST),
            (".gitignore", "node_modules/\n"),
        ],
        prepare: &[PACK, "npm install --offline --no-audit --no-fund", COMMIT],
        check: "npm test",
        work: ("greet.js", GREET),
    });
}

/// pnpm links what is in its store.
#[test]
fn pnpm() {
    proves(&Project {
        needs: &["node", "npm", "pnpm"],
        files: &[
            ("package.json", PACKAGE),
            ("greet.js", NOTHING),
            ("tests/greet.test.js", TEST),
            (".gitignore", "node_modules/\n"),
        ],
        prepare: &[PACK, "pnpm install --offline", COMMIT],
        check: "pnpm test",
        work: ("greet.js", GREET),
    });
}

#[test]
fn a_workspace_of_a_monorepo() {
    proves(&Project {
        needs: &["node", "npm"],
        files: &[
            (
                "web/package.json",
                r#"{"name": "all", "version": "1.0.0", "private": true, "workspaces": ["packages/*"]}"#,
            ),
            (
                "web/packages/greet/package.json",
                r#"{"name": "greet", "version": "1.0.0", "scripts": {"test": "node --test tests/"},
                "dependencies": {"words": "1.0.0"}}"#,
            ),
            ("web/packages/greet/greet.js", NOTHING),
            (
                "web/packages/greet/tests/greet.test.js",
                "const test = require('node:test');
const assert = require('node:assert');
const { hi } = require('words');
const { greet } = require('../greet.js');

test('greets', () => assert.strictEqual(greet('a'), `${hi} a`));
",
            ),
            (
                "web/packages/words/package.json",
                r#"{"name": "words", "version": "1.0.0", "main": "words.js"}"#,
            ),
            ("web/packages/words/words.js", "exports.hi = 'hi';\n"),
            (".gitignore", "node_modules/\n"),
        ],
        prepare: &["cd web && npm install --offline --no-audit --no-fund", COMMIT],
        check: "cd web && npm test --workspace greet",
        work: ("web/packages/greet/greet.js", "exports.greet = name => `hi ${name}`;\n"),
    });
}
