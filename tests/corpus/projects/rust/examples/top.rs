fn main() {
    println!("{}", words_core::count("one two"));
}
