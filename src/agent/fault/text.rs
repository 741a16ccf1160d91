//! Classifies errors in plain text, the last resort. The text must have the shape of an
//! error; keywords alone are not enough.
//!
//! A line counts if it *begins* with the statement of a failure, after any prefix that
//! programs write (a time, a level, an exception's name, their own name), and if nothing in
//! it discusses code, tests or plans about such failures.

use super::pattern::FaultPattern;
use super::status::{is_network_code, of_kind, of_status};
use crate::model::FaultClass;

/// Bytes of a line that are examined.
const LONGEST: usize = 2000;

macro_rules! patterns {
    ($( $name:ident = $pattern:expr; )*) => {
        $( static $name: FaultPattern = FaultPattern::new($pattern); )*
        #[cfg(test)]
        static ALL: &[&FaultPattern] = &[$( &$name ),*];
    };
}

patterns! {
    // Prefixes that do not mark an error.
    TIME = r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[.,\d]*\s*(?:Z|UTC|[+-]\d\d:?\d\d)?\]?\s+";
    MARK = r"^(?:(?:(?:✗|✕|■|●|⎿|✘|×|❌|✖|⚠|❗|🛑)\u{fe0f}?\s*)+|\[errno -?\d+\]\s+)";
    PROGRAM = r"^(?:copilot|ghcs?|curl|git|npm|node|npx|python3?|claude|opencode)(?:\s+\([^)]*\)|\[\d+\])?:\s+(?:\(\d+\)\s+)?";
    // A status in brackets, as in `[429 Too Many Requests] Quota exceeded`.
    BRACKET = r"^\[[45]\d\d(?: [a-z ]+\](?:$|\s)|\] (?-i:[A-Z]+_[A-Z]+)\b)";
    // Prefixes that mark an error.
    LEVEL = r"^(?:\[(?:\w+ )?(?:error|err|fatal|critical)\]:?|(?:error|err|fatal|critical)(?:\s*\[\w+\])?\s*:|(?-i:ERROR|FATAL|CRITICAL)\b)\s+";
    NAMED = r"^((?:[a-z_]\w*\.)*[a-z_]\w*(?:error|exception))(?:\s*\[[\w ]+\])?\s*:\s+(.*)$";
    // The bare name, as Python prints an exception without a message.
    NAME = r"^(?:[a-z_]\w*\.)*((?-i:[A-Z])\w*(?:error|exception))(?:\(\))?$";
    PHRASE = r"^\[?(?:unhandled|uncaught|caused by|last error|unknown(?: \w+)? error|(?:(?:claude|codex|copilot|gemini|openai|opencode|anthropic) )?(?:api|http|internal|model|request|server|provider|execution|authentication)(?:\s+\w+)?\s+(?:error|failed|failure)(?: after \d+ retries)?|execution failed|request failed|error fetching from \S+?|unexpected error|an error occurred|ran into this error)\s*(?:[:\-]|–)\s+";

    // Words of a sentence that discusses failures instead of reporting one.
    ABOUT = r"\b(?:handl(?:e|es|ed|ing|er)|implement(?:s|ed|ation|ing)?|added|adds?|fix(?:es|ed)?|tests?|tested|spec|assert\w*|expect(?:s|ed)?|to_?equal|mock(?:s|ed)?|todo|criteri(?:on|a)|docs?|document(?:s|ed|ation)|comment|example|refactor\w*|unit)\b";
    // Phrases that providers add to an error, although their words suggest a discussion.
    ADDED = r"\bexpected available in\b|\bto get more access now\b|\(e\.g\. check quota\)|\bhttps?://[^\s)\x22'>]+|\bif you (?:need|want|reach out(?: to [\w ]+ support)?|contact support|believe|think|would like)\b";
    PROSE = r"\b(?:should|shall|must|means|when|whenever|whether|if|case|shows?|raised|thrown|returns|supports?|retries|now|instead|e\.g)\b";
    BEGINS_AS_CODE = r"^(?:[{}\[(<|/#*+>@'\x22\x60]|-\s)";
    CODE = r"=>|==|!=|&&|\|\||::|\(\)|[{};]\s*$|\bfn \b|\bdef \b";

    STATUS = r"^(?:(?:client error '|last status:?|http(?:/\d(?:\.\d)?)?(?:\s+(?:error|status|code))*|status(?:\s*code)?|error(?:\s+code)?|code|unexpected\s+status(?:\s+code)?|(?:attempt\s+\d+|(?:(?:gemini|api|model|http)\s+)*request)\s+failed\s+with\s+status(?:\s+code)?|(?:the\s+)?(?:server|api|provider|upstream|requested\s+url)?\s*(?:responded|returned|replied|answered)(?:\s+with)?(?:\s+an?)?(?:\s+error)?(?:\s+http)?(?:\s+status)?(?:\s+code)?)\s*[:=]?\s*)?\(?([45]\d\d)\b\)?(.*)$";
    // A status's meaning, which may follow the number.
    REASON = r"^(?:too many requests|rate[ _-]?limit(?:s|ed|ing)?(?:[ _](?:error|exceeded|reached|hit))?|quota(?: exceeded)?|(?:resource|quota)[ _]exhausted|payment required|unauthori[sz]ed|unauthenticated|forbidden|not found|internal(?: server)? error|bad gateway|(?:service )?(?:temporarily )?unavailable|gateway time-?out|request time-?out|overloaded|throttled|status code|error|retrying with (?:\w+ )?backoff)";
    // A status with its body, as JSON.
    WITH_BODY = r"^([45]\d\d)\s*:?\s*(\{.*\})$";
    BODY = r"^(?:[\s:,.;()\-]|–)*(?:$|[{\[])";
    // How other words may follow a number after a prefix that marks an error.
    LOOSE = r"^(?:\s*(?:[:,;\-]|–)\s*|\s+)[^\s\d]";
    IN_PARENTHESES = r"\((?:http|status(?: code)?)[ :]*([45]\d\d)\)";
    // Counts only after a prefix that marks an error.
    BARE = r"^(?:(?:api )?rate[ -]?limit(?:s|ed)?(?: error)?)\s*(?:$|[.!(:])";
    RETRIED = r"^failed to get response from the ai model\b";
    LAST = r"\blast error\s*:\s*(?:[a-z]*error:\s*)?(?:([45]\d\d)\b)?(.*)$";

    RATE = r"^(?:(?:stream error|stream disconnected before completion): )*(?:(?:[\w-]+ ){0,3}limit(?: (?:was |has been |is )?(?:reached|exceeded|hit))? ?(?:·|∙|—|–|-|,|:|\(|\.) ?(?:it )?(?:will )?resets?(?: (?:on )?(?:tomorrow|today|(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*))?\b|your (?:[\w-]+ ){0,3}limit will reset (?:tomorrow|on \w+|in|at)\b|(?:your )?quota will reset (?:after|in|at|on)|retry[ -]after:? \d{4}-\d\d-\d\d[T0-9:.Z]*|please (?:retry|try again) in \d|(?:(?:the|your|an?|api|secondary|primary|global|model|user|daily|weekly|hourly|monthly|session|usage|request|token|github|copilot|openai|anthropic)\s+)*(?:rate[ -]?limits?|(?:\d+-hour|daily|weekly|monthly|hourly|session) limit)\s*(?:error)?\s*(?:(?:was|has been|is|have been)\s+)?(?:exceeded|reached|hit)|too many (?:requests|tokens)|(?:sorry[,.:]?\s+)?you(?:'ve|’ve|'re|’re| have| are)?\s+(?:been\s+|being\s+|currently\s+|temporarily\s+)*(?:rate[ -]?limited|throttled)|(?:sorry[,.:]?\s+)?you(?:'ve|’ve| have)?\s+(?:hit|reached|exceeded|exhausted|used(?: up)?)\s+(?:an?|the|your|all)\b[^.]{0,60}?\b(?:capacity|rate[ -]?limits?|quota|limits?|allowance|premium requests|token usage|credits)|(?:(?:the|your|monthly|premium|request|requests|api|daily|weekly|usage|token|model|claude|ai)\s+)*(?:quota|free usage|usage limit|premium requests?(?: limit| allowance)?)\s+(?:(?:has been|was|is|have been)\s+)?(?:exceeded|exhausted|reached|used up)|no (?:more )?(?:quota|premium requests) (?:left|remaining)|this request would exceed\b.{0,60}\brate limit|rate[ -]?limited\s*(?:$|[.!,;:])|(?:sorry[,.:]?\s+)?(?:(?:the|your|this)\s+)?requests? (?:was|were|has been|have been|is being|are being) (?:throttled|rate[ -]?limited)|your (?:account|organization|key) (?:was|is|has been) (?:rate[ -]?limited|throttled)|(?:we )?(?:have )?hit (?:an? |the |your )?rate[ -]?limit|request rejected \(429\)|exceeded retry limit, last status: 429(?: too many requests)?|(?:resource|quota)(?: has been|_)? ?exhausted|rate exceeded|(?:sorry[,.:]?\s+)?you(?:'ve|’ve| have)(?: got)? no (?:more |remaining )?(?:quota|premium requests|credits)(?: left| remaining)?|rate_limit_(?:exceeded|error|reached)|insufficient_quota)";
    AUTH = r"^(?:(?:auth|authentication|authorization) (?:is |has |was )?(?:required|failed|failure|error|expired|token)|not (?:logged|signed) in|you(?:'re|’re| are) not (?:logged|signed) in|not authenticated|no authentication information(?: was)?(?: found)?|you (?:must|need to) (?:be logged in|log in|sign in|authenticate)|no authentication information|unauthorized|unauthenticated|bad credentials|(?:invalid|expired|incorrect|missing|no|bad) (?:api key(?: provided)?|access token|token|credentials|login)|(?:the |your )?(?:github |access |oauth |copilot |api )?(?:token|session|credentials?|login|api key|key)\s+(?:has |have |is |are |was )?(?:expired|invalid|revoked|not valid|no longer valid)|please (?:log|sign) in|login required|requires authentication|access denied by policy|to authenticate, you can use|forbidden\s*(?:$|[.!]))";
    MODEL = r"^(?:(?:the )?(?:requested )?model\b.{0,120}?\b(?:not found|is not available|not available|does not exist|is not supported|not supported|is not enabled|is unavailable)|(?:unknown|no such|unsupported) model|(?:unknown|unsupported) model (?:name|id)|(?:an )?invalid model(?: (?:name|id|identifier))?\b|(?:the )?model (?:name|id|identifier) is (?:invalid|unknown|not valid)|(?:the )?model unavailable|(?:the )?model ['\x22\x60]?\S*[\d'\x22\x60] unavailable|model_not_(?:found|supported|available))";
    NETWORK = r"^(?:(?:could|can) ?not connect|(?:unable|failed) to connect|connection (?:closed before message completed|refused|reset|closed|lost|timed out|error|aborted|terminated|dropped|failed|broken|to \S+(?: \S+){0,2}? (?:failed|refused|lost|closed|timed out))|network (?:error|failure|is unreachable|unreachable|connection|timeout|timed out)|fetch failed|socket hang up|could not resolve|getaddrinfo e[a-z_]+(?: \S+)?|getaddrinfo|dns (?:error|(?:name )?(?:lookup|resolution|query)(?: (?:for|of) \S+)? (?:failed|failure|error|timed out))|name resolution (?:failed|failure)|no route to host|error sending request|temporary failure in name resolution|name or service not known|(?:read|write|connect) e[a-z]{4,}\b|(?:the )?(?:response )?stream (?:was |has been |has )?(?:closed|disconnected|interrupted|aborted|reset|ended(?: unexpectedly| early| without a response| before (?:the )?(?:response|completion))?)|(?:the )?connection (?:was|has been|has|got) (?:refused|reset|closed|lost|dropped|aborted|interrupted|terminated|timed out)|the connection (?:timed out|dropped|broke)|(?:read|write|connect|socket|tcp) (?:timed out|time-?out)|client network socket disconnected(?: before secure tls connection was established)?|other side closed|unexpected eof|premature eof|request to \S+ failed|tls (?:handshake|connection)|unable to access\b.*could not resolve host|server closed the connection|broken pipe|you (?:are|seem to be) offline|lost connection)";
    TRANSIENT = r"^(?:internal server error|bad gateway|service (?:is )?(?:temporarily )?unavailable|gateway time-?out|overloaded\s*(?:$|[.!])|(?:the )?(?:(?:upstream|model|api) )?(?:server|model|api|service|engine|provider|system|upstream)\s+(?:is |had |has )?(?:currently |temporarily )?(?:overloaded|busy|at capacity|unavailable|an error)|(?:the )?(?:request|operation|model|api call|call|response)\s+(?:has )?timed out|(?:the |your |an? )?(?:(?:api|http|model|llm|chat|completion) )?(?:request|call|query)(?: to \S+(?: \S+){0,3}?)? (?:has |have )?timed out|(?:the )?(?:(?:response )?(?:connection|stream|response|socket|body)(?: was| has been| has| got| is)? (?:closed|ended|terminated|aborted|cut off) prematurely|(?:response )?(?:connection|stream|response|socket|body)(?: was| has)? prematurely (?:closed|ended|terminated|aborted)|premature end of (?:the )?(?:stream|response|body))|timed out\s*(?:$|[.!]|after|waiting)|(?:(?:the )?(?:model|upstream|request|response|provider|server|api|llm)(?: (?:request|response|call|api|server|connection))? )?time-?out(?: error)?\s*(?:$|[.!]|after|waiting)|timeout of \d+ ?m?s exceeded|(?:the )?(?:model|upstream|provider|server|api|llm) (?:request|call|response|server) (?:has )?timed out|(?:the )?(?:model|upstream|provider|server|api|llm) did not (?:respond|answer|reply) in time|(?:the )?network (?:is |was |went )?down|upstream connect error(?: or disconnect/reset before headers)?|terminated\s*(?:$|[.!])|(?:invalid response body while trying to fetch \S+: )?premature close|(?:(?:context|request|rpc) )?deadline[ _]exceeded|(?:we(?:'re|’re| are) )?(?:currently )?experiencing (?:high|heavy) (?:demand|load|traffic)|(?:a )?transient (?:api |network )?(?:error|failure)|request failed due to a transient(?: api)? error|temporary failure|temporarily unavailable|server[_ ]error|server had an error|overloaded_error|please try again later)";
    ABSENT = r"^(?:enoent\b|no such file or directory|(?:file|path|directory|folder)\b.*?\b(?:not found|does not exist|was not found|doesn't exist)|cannot find (?:the |a )?(?:file|path)|(?:the )?(?:file|path|directory) (?:does not exist|was not found)|(?:the )?file .*(?:does not exist|not found|was not found)|(?:[^:]+: ){0,3}no such file or directory)";
    DENIED = r"^(?:eacces\b|eperm\b|permission denied|operation not permitted|permission to use\b.*denied|(?:[^:]+: ){0,3}(?:permission denied|operation not permitted))";
    OS_ERROR = r"\(os error (2|13|1|104|111|110)\)";
    // How a statement may continue; otherwise it is part of another sentence.
    END = r"^\s*(?:$|[.!,;:()\[\]'\x22\-|]|–|—|…|·|∙|\d|(?:for|on|by|that|host|please|in|with|to|until|try|retry|at|after|while|from|of|at|code|error|status)\b)";
}

/// Every line that reports a failure has one of these words, or a status. Most lines have
/// none, so the patterns, which take memory once used, are rarely compiled.
const SIGNS: &str = "\
    error|exception|fail|limit|quota|too many|throttl|exhausted|exceed|premium request\
    |retry|reset|credits|allowance|token|auth|logged in|signed in|log in|sign in|login|credential\
    |session|key|forbidden|denied|model|connect|network|socket|resol|getaddrinfo|dns\
    |no route|name or service|read e|write e|stream|tls|unable to access|broken pipe\
    |offline|gateway|unavailable|timed out|timeout|time-out|overloaded|busy|capacity\
    |deadline|transient|temporary|try again|terminated|premature|upstream|in time|experiencing\
    |closed|eof|query\
    |no such file|not found|not exist|n't exist\
    |cannot find|not permitted";

/// Can a line report a failure at all? It needs a sign, a number from 400 to 599, or the name
/// of a system error.
fn may_tell(line: &str) -> bool {
    let small = line.to_lowercase();
    let status = |digits: &[u8]| matches!(digits, [b'4' | b'5', b'0'..=b'9', b'0'..=b'9']);
    let named = |word: &str| is_network_code(word) || matches!(word, "enoent" | "eacces" | "eperm");
    SIGNS.split('|').any(|sign| small.contains(sign))
        || small.as_bytes().windows(3).any(status)
        || small.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(named)
}

/// The class of a line of plain text that reports a failure by itself.
pub fn classify_line(line: &str) -> Option<FaultClass> {
    let line = bounded(line);
    if !may_tell(line) {
        return None;
    }
    let (rest, named, marked) = unwrapped(line);
    let prose = || PROSE.is_match(&ADDED.taken_from(rest)) || CODE.is_match(rest);
    if RETRIED.is_match(rest) {
        return stated(rest, true);
    }
    if let Some(class) = of_body(rest, marked) {
        return Some(class);
    }
    if BEGINS_AS_CODE.is_match(rest) || is_about(rest) || (!marked && prose()) {
        return None;
    }
    stated(rest, marked).or(named).or_else(|| by_name(rest))
}

/// `429: {"type":"error",…}`; after a prefix that marks an error also the body alone.
fn of_body(rest: &str, marked: bool) -> Option<FaultClass> {
    if let Some([status, body]) = WITH_BODY.groups(rest) {
        let body: serde_json::Value = serde_json::from_str(body).ok()?;
        return body.is_object().then(|| status.parse().ok().and_then(of_status))?;
    }
    let body = rest.strip_suffix(']').unwrap_or(rest);
    let body = body.starts_with('{').then(|| serde_json::from_str::<serde_json::Value>(body).ok());
    let body = body.flatten()?;
    let error = if body["error"].is_object() { &body["error"] } else { &body };
    let status = ["code", "status"].iter().find_map(|name| error[name].as_u64());
    let kind = ["code", "status", "type"].iter().find_map(|name| error[name].as_str());
    let class = status.and_then(of_status).or_else(|| kind.and_then(of_kind))?;
    // Without a mark it may be the answer that was asked for.
    (marked || class == FaultClass::RateLimit).then_some(class)
}

/// Does a prefix of the line mark it as an error?
pub(super) fn is_marked(line: &str) -> bool {
    unwrapped(bounded(line)).2
}

/// The line's statement, without its prefixes.
pub(super) fn statement(line: &str) -> &str {
    unwrapped(bounded(line)).0
}

/// Does the text discuss failures, code or tests instead of reporting a failure?
fn is_about(text: &str) -> bool {
    ABOUT.is_match(&ADDED.taken_from(text))
}

fn by_name(rest: &str) -> Option<FaultClass> {
    NAME.groups(rest).and_then(|[name]| of_exception(name))
}

/// The class of a message from a channel that carries only errors.
pub fn classify_message(message: &str) -> Option<FaultClass> {
    message.lines().find_map(|line| {
        let (rest, named, _) = unwrapped(bounded(line));
        if is_about(rest) && !RETRIED.is_match(rest) {
            return None;
        }
        let kind = || rest.contains('_').then(|| of_kind(rest)).flatten();
        stated(rest, true).or(named).or_else(|| by_name(rest)).or_else(kind)
    })
}

fn bounded(line: &str) -> &str {
    line[..line.floor_char_boundary(LONGEST)].trim()
}

/// A line without its prefixes, the class of an exception's name among them, and whether a
/// prefix marks it as an error.
fn unwrapped(line: &str) -> (&str, Option<FaultClass>, bool) {
    let (mut rest, mut named, mut marked) = (line, None, false);
    for _ in 0..8 {
        let end =
            |patterns: &[&FaultPattern]| patterns.iter().find_map(|pattern| pattern.end(rest));
        if let Some([name, after]) = NAMED.groups(rest) {
            let name = name.rsplit('.').next().unwrap_or_default();
            named = named.or_else(|| of_exception(name));
            (rest, marked) = (after, true);
        } else if let Some(at) = end(&[&LEVEL, &PHRASE]) {
            (rest, marked) = (&rest[at..], true);
        } else if let Some(at) = end(&[&TIME, &MARK, &PROGRAM]) {
            rest = &rest[at..];
        } else if BRACKET.is_match(rest) {
            rest = &rest[1..];
        } else {
            break;
        }
    }
    (rest, named, marked)
}

/// `RateLimitError`, `ConnectionRefusedError`, `FileNotFoundError`.
fn of_exception(name: &str) -> Option<FaultClass> {
    let name = name.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if any(&["ratelimit", "quota", "throttl", "toomanyrequests"]) {
        Some(FaultClass::RateLimit)
    } else if any(&["authentication", "unauthorized", "autherror", "authexpired"]) {
        Some(FaultClass::Auth)
    } else if any(&["modelunavailable", "modelnotfound"]) {
        Some(FaultClass::ModelUnavailable)
    } else if any(&["connection", "network", "socket"]) {
        Some(FaultClass::Network)
    } else if any(&["timeout", "internalserver", "serviceunavailable", "overloaded"]) {
        Some(FaultClass::Transient)
    } else if name == "filenotfounderror" {
        Some(FaultClass::FileNotFound)
    } else if name == "permissionerror" {
        Some(FaultClass::PermissionDenied)
    } else {
        None
    }
}

/// The class of the statement at the start of a text.
fn stated(text: &str, marked: bool) -> Option<FaultClass> {
    if let Some(class) = of_status_line(text, marked) {
        return Some(class);
    }
    if RETRIED.is_match(text) {
        // The CLI's summary after its retries: use its last error, else it got no answer.
        let last = LAST.groups(text);
        let status = last.and_then(|[status, _]| status.parse().ok());
        let words = || last.and_then(|[_, words]| classify_message(words));
        return status.and_then(of_status).or_else(words).or(Some(FaultClass::Network));
    }
    let statements: [(&FaultPattern, FaultClass); 7] = [
        (&RATE, FaultClass::RateLimit),
        (&AUTH, FaultClass::Auth),
        (&MODEL, FaultClass::ModelUnavailable),
        // A connection that was closed prematurely is the server's doing.
        (&TRANSIENT, FaultClass::Transient),
        (&NETWORK, FaultClass::Network),
        (&ABSENT, FaultClass::FileNotFound),
        (&DENIED, FaultClass::PermissionDenied),
    ];
    if marked && BARE.is_match(text) {
        return Some(FaultClass::RateLimit);
    }
    let found = statements.into_iter().find(|(pattern, _)| begins(pattern, text));
    found.map(|(_, class)| class).or_else(|| of_system(text, marked))
}

/// `429 Too Many Requests`, `Request failed with status code 503`, `… (HTTP 401).`
fn of_status_line(text: &str, marked: bool) -> Option<FaultClass> {
    if let Some([code, rest]) = STATUS.groups(text)
        && gives_reason(rest, marked)
    {
        return code.parse().ok().and_then(of_status);
    }
    let [within] = IN_PARENTHESES.groups(text).filter(|_| marked)?;
    within.parse().ok().and_then(of_status)
}

/// Does the text after a number confirm that it is a failed status? It does if it is empty, a
/// body, the status's meaning, or a failure in its own words.
fn gives_reason(rest: &str, marked: bool) -> bool {
    let words = rest.trim_start_matches([' ', '\t', ']', ':', ',', '.', ';', '(', ')', '-', '–']);
    let further = REASON.end(words).map_or(words, |end| &words[end..]);
    BODY.is_match(rest)
        || begins(&REASON, words)
        || stated(words, false).is_some()
        || (marked && LOOSE.is_match(rest) && !is_counted(further))
}

/// `429 lines changed`, `500 is not a port`: the number counts something, or is the subject.
fn is_counted(words: &str) -> bool {
    let mut words = words.split_whitespace().take(3).map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.to_lowercase()
    });
    let about = |word: &str| {
        let verbs = ["is", "was", "are", "were", "isn't", "does", "of", "out", "and", "or", "to"];
        verbs.contains(&word) || ["not", "in", "vs", "than", "times", "more"].contains(&word)
    };
    let many = |word: &str| {
        let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
        plural && !["requests", "resets", "tokens", "status", "credentials", "this"].contains(&word)
    };
    words.next().is_some_and(|first| about(&first) || many(&first)) || words.any(|it| many(&it))
}

/// Does the text begin with this statement and continue as one may?
fn begins(pattern: &FaultPattern, text: &str) -> bool {
    pattern.end(text).is_some_and(|end| end > 0 && END.is_match(&text[end..]))
}

/// `connect ECONNREFUSED 127.0.0.1:80`, `No such file or directory (os error 2)`.
fn of_system(text: &str, marked: bool) -> Option<FaultClass> {
    if let Some([number]) = OS_ERROR.groups(text) {
        return match number {
            "2" => Some(FaultClass::FileNotFound),
            "1" | "13" => Some(FaultClass::PermissionDenied),
            _ => Some(FaultClass::Network),
        };
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut words = words.enumerate().filter(|(at, word)| {
        // Such names are written in capitals.
        word.len() > 3 && word.chars().all(|c| !c.is_ascii_lowercase()) && (marked || *at == 0)
    });
    words.find_map(|(_, word)| {
        let word = word.to_lowercase();
        if is_network_code(&word) {
            return Some(FaultClass::Network);
        }
        of_kind(&word).filter(|_| matches!(word.as_str(), "enoent" | "eacces" | "eperm"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    use proptest::string::string_regex;
    use proptest::test_runner::TestRunner;

    use super::*;

    /// No text that a pattern matches is filtered out before the pattern runs.
    #[test]
    fn no_statement_is_without_a_sign() {
        let statements = [
            &NAMED,
            &NAME,
            &STATUS,
            &IN_PARENTHESES,
            &BARE,
            &RETRIED,
            &RATE,
            &AUTH,
            &MODEL,
            &NETWORK,
            &TRANSIENT,
            &ABSENT,
            &DENIED,
            &OS_ERROR,
        ];
        for pattern in statements {
            // Edges cannot be generated, and only ASCII is needed.
            let text = pattern.text().replace(r"\d", "[0-9]").replace(r"\s", " ");
            let text = ["^", "$", r"\b"].iter().fold(text, |text, edge| text.replace(edge, ""));
            let any = string_regex(&text).expect("a strategy");
            let mut runner = TestRunner::deterministic();
            for _ in 0..2000 {
                let line = any.new_tree(&mut runner).expect("a text").current();
                assert!(may_tell(&line), "{line:?}");
            }
        }
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in ALL {
            pattern.is_match("Error: x");
        }
        assert_eq!(ALL.len(), 31);
    }
}
