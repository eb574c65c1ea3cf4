internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// A form part in the syntax of curl's `-F`.
///
/// `NAME=VALUE`, `NAME=@FILE` or `NAME=<FILE`, then `;type=TYPE` and `;filename=NAME`.
struct FormField: Hashable {
    /// The content of the part.
    enum Content: Hashable {
        case text(String)
        /// The bytes of a file, sent as a file.
        case file(String)
        /// The bytes of a file, sent as text.
        case contents(String)
    }

    let name: String
    let content: Content
    private(set) var fileName: String?
    private(set) var contentType: String?

    /// - Throws: One clause that names the part, never its value.
    init(parsing text: String) throws(TextError) {
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard sides.count == 2, !sides[0].isEmpty else {
            // The text may be a value, and so a secret.
            throw TextError("a part of a form has no name (expected NAME=VALUE, NAME=@FILE or NAME=<FILE)")
        }
        self.name = sides[0]
        var scanner = FormFieldScanner(sides[1])
        do throws(TextError) {
            switch scanner.next {
            case "@": self.content = .file(try scanner.file(isSplitByCommas: true))
            case "<": self.content = .contents(try scanner.file(isSplitByCommas: false))
            default: self.content = .text(try scanner.word())
            }
            try self.parseSuffixes(&scanner)
        } catch {
            throw TextError("\"\(sides[0])\": \(error)")
        }
    }

    /// True if the part reads standard input.
    var readsStandardInput: Bool { [.file("-"), .contents("-")].contains(self.content) }

    private mutating func parseSuffixes(_ scanner: inout FormFieldScanner) throws(TextError) {
        var isAfterType = false
        while scanner.skipSemicolon() {
            if scanner.skip("type=") {
                self.contentType = scanner.raw()
                isAfterType = true
            } else if scanner.skip("filename=") {
                self.fileName = try scanner.word()
                isAfterType = false
            } else if scanner.skip("headers=") || scanner.skip("encoder=") {
                throw TextError("curl's \"headers=\" and \"encoder=\" are not supported; only type= and filename= are")
            } else if isAfterType, let type = self.contentType {
                self.contentType = "\(type);\(scanner.raw(trimming: false))"
            } else {
                throw TextError("quote a value that has a semicolon: \(self.name)='\"…;…\"'")
            }
        }
        if let type = self.contentType { try FormField.check(type) }
    }

    private static func check(_ type: String) throws(TextError) {
        let parts = type.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = type.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F }
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }), isPlain else {
            throw TextError("type: \"\(type)\" is not a content type (such as image/png)")
        }
    }
}

/// Parses the text after a part's name, as curl's formparse does.
private struct FormFieldScanner {
    private var rest: Substring.UnicodeScalarView

    init(_ text: String) { self.rest = text[...].unicodeScalars }

    var next: Unicode.Scalar? { self.rest.first }

    /// The file name after `@` or `<`.
    mutating func file(isSplitByCommas: Bool) throws(TextError) -> String {
        let sign = String(self.rest.removeFirst())
        let isQuoted = self.rest.drop { $0 == " " }.first == "\""
        let file = try self.word()
        if isSplitByCommas, !isQuoted, file.contains(",") {
            throw TextError("a part has one file: repeat --form, or quote a name that has a comma")
        }
        guard !file.isEmpty else { throw TextError("there is no file after \(sign)") }
        return file
    }

    /// The text before the next semicolon; a quoted text may contain semicolons, `\"` and `\\`.
    mutating func word() throws(TextError) -> String {
        self.rest = self.rest.drop { $0 == " " }
        guard let (text, end) = self.quoted() else { return self.raw() }
        self.rest = self.rest[end...]
        guard self.raw().isEmpty else { throw TextError("unexpected text after the closing quotation mark") }
        return text
    }

    /// The unquoted text before the next semicolon.
    mutating func raw(trimming: Bool = true) -> String {
        let text = self.rest.prefix { $0 != ";" }
        self.rest = self.rest[text.endIndex...]
        guard trimming else { return String(text) }
        let end = text.lastIndex { $0 != " " }.map(text.index(after:)) ?? text.startIndex
        return String(String.UnicodeScalarView(text[..<end].drop { $0 == " " }))
    }

    /// Skips past the next semicolon; false at the end.
    mutating func skipSemicolon() -> Bool {
        guard self.rest.first == ";" else { return false }
        self.rest.removeFirst()
        return true
    }

    /// Skips `key`, ignoring case, and any spaces before it; false if something else is there.
    mutating func skip(_ key: String) -> Bool {
        let word = self.rest.drop { $0 == " " }
        guard String(word.prefix(key.unicodeScalars.count)).lowercased() == key else { return false }
        self.rest = word.dropFirst(key.unicodeScalars.count)
        return true
    }

    // Without a closing quotation mark, the opening one is an ordinary character.
    private func quoted() -> (text: String, end: Substring.UnicodeScalarView.Index)? {
        guard self.rest.first == "\"" else { return nil }
        var text = ""
        var isEscaped = false
        for index in self.rest.indices.dropFirst() {
            let scalar = self.rest[index]
            if isEscaped {
                if scalar != "\"", scalar != "\\" { text.unicodeScalars.append("\\") }
                text.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                return (text, self.rest.index(after: index))
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return nil
    }
}

extension MultipartForm {
    /// A form with these parts.
    ///
    /// - Throws: ``TextError`` that names the part and the file that cannot be read.
    init(_ fields: [FormField]) throws(TextError) {
        self.init()
        for field in fields {
            switch field.content {
            case .text(let text):
                self.append(
                    .data(Array(text.utf8)), name: field.name, fileName: field.fileName, contentType: field.contentType)
            case .file(let path):
                let name = path.split(separator: "/").last.map(String.init) ?? path
                self.append(
                    .file(try MultipartForm.readable(path, field)), name: field.name,
                    fileName: field.fileName ?? name, contentType: field.contentType)
            case .contents(let path):
                let file = try MultipartForm.readable(path, field)
                if let fileName = field.fileName {
                    self.append(
                        .file(file), name: field.name, fileName: fileName, contentType: field.contentType)
                } else {
                    self.append(contentsOf: file, name: field.name, contentType: field.contentType)
                }
            }
        }
    }

    // The file itself, or the copy of a pipe; `-` is standard input.
    private static func readable(_ path: String, _ field: FormField) throws(TextError) -> String {
        do throws(TextError) {
            let file = try PipedFile.readable(path == "-" ? "/dev/stdin" : path)
            var status = stat()
            guard stat(file, &status) == 0, access(file, R_OK) == 0 else {
                throw TextError("cannot be read: \(SystemError.message(errno))")
            }
            guard status.st_mode & S_IFMT == S_IFREG else { throw TextError("is not a regular file") }
            return file
        } catch {
            throw TextError("\"\(field.name)\": \(path) \(error)")
        }
    }
}
