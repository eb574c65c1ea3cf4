/// Repairs the completion script that ArgumentParser generates for fish(1).
enum FishCompletion {
    /// The script with a loop that ends; any other text as it is.
    ///
    /// fish's argparse refuses the name of an option with a full stop in it, such as `--control.socket`. The script does
    /// not look at that, and goes on with the words it had for ever.
    static func repaired(_ text: String) -> String {
        let call = #"argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null"#
        guard text.contains("function __tidegate_parse_subcommand"), let range = text.firstRange(of: call) else {
            return text
        }
        return text[..<range.upperBound] + "; or break" + text[range.upperBound...]
    }
}
