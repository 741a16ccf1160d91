//! Words that follow the name of a secret without being one: of schemas, messages and prose.

/// Single words that follow `password:` in schemas, forms and code.
pub(super) const FIELD_WORDS: &str = "text str char field value input hidden hash bytes varchar";

/// Technical words with letters and digits, as in prose about secrets.
pub(super) const TECHNICAL: &str = "oauth1 oauth2 sha1 sha2 sha3 sha256 sha384 sha512 sha-1 sha-256 sha-512 md5 base32 \
    base58 base64 utf8 utf-8 utf16 http2 http3 ipv4 ipv6 ed25519 argon2 argon2id pbkdf2 es256 rs256 hs256 \
    aes128 aes256 aes-128 aes-256 x509 p256 totp2 web3 auth0";

/// Words of messages about secrets, even if other words in them look made up.
pub(super) const ABOUT: &str = "must should cannot please enter your password passwords passphrase token \
    invalid missing required wrong incorrect least characters digit digits match";

/// Words of sentences, labels and code. Plain words with one of these among them are not a
/// passphrase.
pub(super) const PROSE: &str = "a an and any are as at be been but by can could did do does for from had has have here how \
    if in into is isn't it its may no not of off on only or our out please so than that the \
    their them then there these they this those to too up was we were what when where which who \
    will with without would you your must should cannot \
    accepted actual algorithm api argument array auth authentication base64 bearer blank boolean \
    bytes cannot change changed char characters checked class client config confirm constant \
    contains copied could created credential credentials current decode decoded default denied \
    deprecated digit digits disabled dummy email empty enabled encoded encrypted end enter env \
    error example existing expected expired expires expression failed failure field file first \
    forgot format found function generated given hash hashed header hidden hide id identifier \
    incorrect input integer internal invalid keep key keys keyword label last least length \
    letters literal loaded login long masked match matches max maximum min minimum mismatch \
    missing name needed never new next none null number object obtained old omitted operator \
    optional parameter parse parsed passphrase passwd password passwords path placeholder plain \
    placed previous prompt provided random read read-only redacted refresh refreshed regex \
    rejected removed request required reset response retrieved returned revoked rotate rotated \
    rules same saved see session set short show signed statement stored str string strong text \
    token tokens too type unauthorized undefined unexpected unset unused updated used user \
    username uses valid value variable varchar wait weak word wrong \
    passe passwort kennwort wachtwoord contraseña senha clave";

/// Is the word in the list, in any case?
pub(super) fn among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known.eq_ignore_ascii_case(word))
}

/// Is this a single word of a schema, a message or code, and so not a secret of its own?
pub(super) fn is_common(word: &str) -> bool {
    among(PROSE, word) || among(FIELD_WORDS, word) || word.eq_ignore_ascii_case("secret")
}
