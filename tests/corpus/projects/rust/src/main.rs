use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    match std::env::args().nth(1) {
        Some(path) => text = std::fs::read_to_string(path)?,
        None => {
            std::io::stdin().read_to_string(&mut text)?;
        }
    }
    println!("{}", words_core::count(&text));
    Ok(())
}
