/// The colors of text, by meaning: parameters of the escape sequence SGR (ECMA-48 8.3.117).
enum TextColor: String, Sendable, CaseIterable {
    case good = "32"
    case bad = "31"
    case doubtful = "33"
    case faint = "2"
    case strong = "1"
}
