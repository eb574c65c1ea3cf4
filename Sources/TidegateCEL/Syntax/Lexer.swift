/// Splits the text of an expression into tokens.
struct Lexer {
    private let text: [Unicode.Scalar]
    private var offset = 0

    /// The reserved words of the language.
    private static let keywords: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    ]
    // Longer symbols first.
    private static let symbols = [
        "<=", ">=", "==", "!=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[",
        "]", "{", "}",
    ].map { Array($0.unicodeScalars) }

    /// A lexer for a text.
    init(_ text: String) { self.text = Array(text.unicodeScalars) }

    /// All tokens; the last one is the end.
    static func tokens(of text: String) throws(CELError) -> [Token] {
        var lexer = Lexer(text)
        var tokens: [Token] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private func scalar(_ distance: Int = 0) -> Unicode.Scalar? {
        self.offset + distance < self.text.count ? self.text[self.offset + distance] : nil
    }

    private mutating func next() throws(CELError) -> Token {
        self.skipSpace()
        let start = self.offset
        guard let first = self.scalar() else { return Token(kind: .end, offset: start) }
        if let literal = try self.stringOrBytes() { return Token(kind: literal, offset: start) }
        if Self.startsName(first) { return Token(kind: self.name(), offset: start) }
        if Self.isDigit(first) || first == "." && self.scalar(1).map(Self.isDigit) == true {
            return Token(kind: try self.number(), offset: start)
        }
        for symbol in Self.symbols where self.text[start...].starts(with: symbol) {
            self.offset += symbol.count
            return Token(kind: .symbol(symbol.map(String.init).joined()), offset: start)
        }
        throw CELError("\"\(first)\" is not part of an expression", at: start)
    }

    private mutating func skipSpace() {
        while let scalar = self.scalar() {
            if [" ", "\t", "\r", "\n", "\u{0C}"].contains(scalar) {
                self.offset += 1
            } else if scalar == "/", self.scalar(1) == "/" {
                while let next = self.scalar(), next != "\n" { self.offset += 1 }
            } else {
                return
            }
        }
    }

    private mutating func name() -> Token.Kind {
        let start = self.offset
        while let scalar = self.scalar(), Self.startsName(scalar) || Self.isDigit(scalar) { self.offset += 1 }
        let name = self.text(from: start)
        return Self.keywords.contains(name) ? .keyword(name) : .identifier(name)
    }

    private mutating func number() throws(CELError) -> Token.Kind {
        let start = self.offset
        if self.scalar() == "0", self.scalar(1) == "x" || self.scalar(1) == "X" {
            self.offset += 2
            while let scalar = self.scalar(), scalar.properties.isASCIIHexDigit { self.offset += 1 }
            guard self.offset > start + 2 else { throw CELError("\"0x\" has no digits", at: start) }
            return self.integer(from: start)
        }
        self.skipDigits()
        var isDouble = false
        if self.scalar() == ".", self.scalar(1).map(Self.isDigit) == true {
            isDouble = true
            self.offset += 1
            self.skipDigits()
        }
        if self.scalar() == "e" || self.scalar() == "E" {
            let sign = self.scalar(1) == "+" || self.scalar(1) == "-" ? 1 : 0
            if self.scalar(1 + sign).map(Self.isDigit) == true {
                isDouble = true
                self.offset += 1 + sign
                self.skipDigits()
            }
        }
        guard isDouble else { return self.integer(from: start) }
        guard let number = Double(self.text(from: start)), number.isFinite else {
            throw CELError("the number is larger than a double holds", at: start)
        }
        return .double(number)
    }

    private mutating func skipDigits() {
        while let scalar = self.scalar(), Self.isDigit(scalar) { self.offset += 1 }
    }

    private mutating func integer(from start: Int) -> Token.Kind {
        let digits = self.text(from: start)
        guard self.scalar() == "u" || self.scalar() == "U" else { return .int(digits) }
        self.offset += 1
        return .uint(digits)
    }

    /// A string or bytes literal with the prefix `r`, `b` or `br`, if one starts here.
    private mutating func stringOrBytes() throws(CELError) -> Token.Kind? {
        var length = 0
        let isBytes = self.scalar() == "b" || self.scalar() == "B"
        if isBytes { length += 1 }
        let isRaw = self.scalar(length) == "r" || self.scalar(length) == "R"
        if isRaw { length += 1 }
        guard let quote = self.scalar(length), quote == "\"" || quote == "'" else { return nil }
        let start = self.offset
        self.offset += length
        let isTriple = self.scalar(1) == quote && self.scalar(2) == quote
        self.offset += isTriple ? 3 : 1
        var literal = QuotedLiteral(isRaw: isRaw, isBytes: isBytes)
        while let scalar = self.scalar(), isTriple || scalar != "\n" && scalar != "\r" {
            if scalar == quote, !isTriple || self.scalar(1) == quote && self.scalar(2) == quote {
                self.offset += isTriple ? 3 : 1
                return isBytes ? .bytes(literal.bytes) : .string(literal.bytes)
            }
            self.offset += try literal.add(self.text[self.offset...])
        }
        throw CELError("a string has no end", at: start)
    }

    private func text(from start: Int) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: self.text[start..<self.offset])
        return text
    }

    private static func startsName(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
}

/// A CEL token and its position.
struct Token: Sendable, Hashable {
    /// The kind of token.
    enum Kind: Sendable, Hashable {
        case identifier(String)
        /// `in`, and words that must not be names.
        case keyword(String)
        /// Decimal digits, or hexadecimal digits after `0x`.
        case int(String)
        case uint(String)
        case double(Double)
        case string([UInt8])
        case bytes([UInt8])
        /// An operator or a bracket.
        case symbol(String)
        case end
    }

    let kind: Kind
    /// In Unicode scalars from the start of the text.
    let offset: Int

    /// The token in error messages.
    var text: String {
        switch self.kind {
        case .identifier(let name), .keyword(let name), .symbol(let name): "\"\(name)\""
        case .int(let digits): "\"\(digits)\""
        case .uint(let digits): "\"\(digits)u\""
        case .double(let number): "\"\(number)\""
        case .string: "a string"
        case .bytes: "bytes"
        case .end: "the end"
        }
    }
}

/// The content of a string or bytes literal being read.
struct QuotedLiteral {
    let isRaw: Bool
    /// True if `\x` and octal escapes denote bytes rather than Unicode scalars.
    let isBytes: Bool
    /// The content read so far, in UTF-8.
    private(set) var bytes: [UInt8] = []

    private static let simple: [Unicode.Scalar: UInt8] = [
        "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 0x5C, "?": 0x3F, "\"": 0x22, "'": 0x27,
        "`": 0x60,
    ]

    /// Adds the first scalar of `rest`, or the escape sequence at its start; returns the number of scalars used.
    mutating func add(_ rest: ArraySlice<Unicode.Scalar>) throws(CELError) -> Int {
        guard let first = rest.first else { return 0 }
        guard first == "\\", !self.isRaw else {
            self.bytes += Array(String(first).utf8)
            return 1
        }
        let place = rest.startIndex
        guard let kind = rest.dropFirst().first else { throw CELError("an escape has no end", at: place) }
        if let byte = Self.simple[kind] {
            self.bytes.append(byte)
            return 2
        }
        let (digits, skipped, radix) =
            switch kind {
            case "x", "X": (2, 2, 16)
            case "u" where !self.isBytes: (4, 2, 16)
            case "U" where !self.isBytes: (8, 2, 16)
            case "0"..."3": (3, 1, 8)
            default: (0, 0, 0)
            }
        let text = rest.dropFirst(skipped).prefix(digits).map(String.init).joined()
        guard digits > 0, text.utf8.count == digits, text.first != "+", text.first != "-",
            let number = UInt32(text, radix: radix)
        else { throw CELError("an escape is unknown", at: place) }
        if self.isBytes {
            guard let byte = UInt8(exactly: number) else { throw CELError("an escape is not a byte", at: place) }
            self.bytes.append(byte)
        } else {
            guard let scalar = Unicode.Scalar(number) else { throw CELError("an escape is not a character", at: place) }
            self.bytes += Array(String(scalar).utf8)
        }
        return skipped + digits
    }
}
