//! Names of standard libraries: a new file with one of them takes the place of the real one. Data
//! only.

/// Headers of C and C++ and of test frameworks that the product never has.
pub(super) const HEADERS: &[&str] = &[
    "assert.h",
    "cassert",
    "catch.hpp",
    "catch_amalgamated.hpp",
    "check.h",
    "cmocka.h",
    "doctest.h",
    "gtest.h",
    "iostream",
    "stdio.h",
    "stdlib.h",
    "unity.h",
];

/// More headers of the system, which some programs have in place of the system's.
pub(super) const SYSTEM_HEADERS: &str = "
    complex.h ctype.h errno.h fcntl.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h
    signal.h stdarg.h stdbool.h stddef.h stdint.h string.h strings.h tgmath.h threads.h time.h
    uchar.h unistd.h wchar.h wctype.h
    algorithm any array bitset cctype cerrno cfloat charconv chrono cinttypes climits cmath compare
    complex csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime deque exception
    filesystem forward_list fstream functional initializer_list iomanip ios iosfwd istream iterator
    limits list map memory mutex numeric optional ostream queue random ranges ratio regex set span
    sstream stack stdexcept streambuf string string_view system_error thread tuple type_traits
    typeindex typeinfo unordered_map unordered_set utility valarray variant vector
";

/// Perl's pragmas and modules.
pub(super) const PERL: &str = "
    autodie base bigint bignum bigrat bytes charnames constant diagnostics encoding experimental
    feature fields filetest if integer less lib locale mro open ops overload overloading parent re
    sigtrap sort strict subs utf8 vars version vmsish warnings
    AutoLoader B Benchmark Carp Carp/Heavy Class/Struct Config Cwd DB_File Data/Dumper Digest/MD5
    Digest/SHA Encode English Env Errno Exporter Exporter/Heavy Fcntl File/Basename File/Compare
    File/Copy File/Find File/Glob File/Path File/Spec File/Spec/Functions File/Spec/Unix File/Temp
    File/stat FindBin Getopt/Long Getopt/Std Hash/Util I18N/Langinfo IO IO/File IO/Handle IO/Pipe
    IO/Select IO/Socket IPC/Cmd IPC/Open2 IPC/Open3 JSON/PP List/Util MIME/Base64 Math/BigFloat
    Math/BigInt Math/Complex Math/Trig Module/Load PerlIO POSIX Safe Scalar/Util SelectSaver
    SelfLoader Socket Storable Sub/Util Symbol Sys/Hostname Term/ANSIColor Text/Abbrev
    Text/Balanced Text/ParseWords Text/Tabs Text/Wrap Thread Tie/Array Tie/Hash Tie/RefHash
    Tie/Scalar Time/HiRes Time/Local Time/Piece Time/Seconds UNIVERSAL Unicode/Normalize XSLoader
    DynaLoader threads
";

/// Ruby's libraries that its test frameworks load.
pub(super) const RUBY_OF_RUNNERS: &str = "
    English delegate etc forwardable io/console monitor open3 optparse pp prettyprint rbconfig
    ripper socket stringio strscan tempfile tmpdir weakref
";

/// Ruby's other libraries.
pub(super) const RUBY: &str = "
    abbrev base64 benchmark bigdecimal bigdecimal/util cgi coverage csv date digest digest/md5
    digest/sha1 digest/sha2 erb fiddle fileutils find getoptlong io/wait ipaddr irb json logger
    matrix net/http nkf observer open-uri openssl ostruct pathname prime pstore psych racc rexml
    securerandom set shellwords singleton time timeout tsort un uri win32ole yaml zlib
";

/// Classes that Java code names without their package.
pub(super) const JAVA: &str = "
    ArithmeticException ArrayDeque ArrayList Arrays AssertionError Boolean BufferedReader
    BufferedWriter Byte Character Class ClassLoader Collection Collections Collectors Comparable
    Comparator Double Duration Enum Error Exception File FileReader FileWriter Files Float HashMap
    HashSet IOException IllegalArgumentException IllegalStateException InputStream InputStreamReader
    Instant IntStream Integer Iterable Iterator LinkedHashMap LinkedHashSet LinkedList List Long Map
    Math Number Object Objects Optional OutputStream Path Paths Pattern PrintStream Process
    ProcessBuilder Properties Queue Random Record Runnable Runtime RuntimeException Scanner Set
    Short Stream StrictMath String StringBuffer StringBuilder System Thread ThreadLocal Throwable
    TreeMap TreeSet UUID Vector Void
";

/// Modules that runners of Python tests are made of or load.
pub(super) const PYTHON_OF_RUNNERS: &[&str] = &[
    "_pytest",
    "argparse",
    "asyncio",
    "coverage",
    "difflib",
    "doctest",
    "functools",
    "hypothesis",
    "importlib",
    "inspect",
    "io",
    "logging",
    "mock",
    "nose2",
    "os",
    "pluggy",
    "pytest",
    "re",
    "sys",
    "traceback",
    "types",
    "unittest",
];

/// Modules that others of Python's standard library load, of names that no product has.
pub(super) const PYTHON_BEHIND: &[&str] = &[
    "_collections_abc",
    "_strptime",
    "codecs",
    "contextvars",
    "copyreg",
    "dis",
    "encodings",
    "fnmatch",
    "genericpath",
    "keyword",
    "linecache",
    "numbers",
    "opcode",
    "posixpath",
    "reprlib",
    "runpy",
    "selectors",
    "site",
    "sitecustomize",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "tokenize",
    "usercustomize",
    "warnings",
    "weakref",
];

/// Modules of Python's standard library that tests import.
pub(super) const PYTHON: &[&str] = &[
    "abc",
    "array",
    "base64",
    "bisect",
    "calendar",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "filecmp",
    "fractions",
    "glob",
    "hashlib",
    "heapq",
    "http",
    "itertools",
    "json",
    "math",
    "operator",
    "pathlib",
    "pickle",
    "platform",
    "queue",
    "random",
    "shlex",
    "shutil",
    "socket",
    "sqlite3",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "typing",
    "urllib",
    "uuid",
    "zlib",
];
