internal import ArgumentParser
internal import Glibc
internal import Tidegate
internal import TidegateDaemon

/// A file of cookies in Netscape's format, as curl(1) reads and writes it.
enum CookieFile {
    private static let maxBytes = 4 << 20

    /// The cookies of `--cookie`, and those of `--cookie-jar`, which need not exist yet and goes before it; nil without
    /// either.
    static func jar(reading file: String?, jar: String?) throws -> CookieJar? {
        guard file != nil || jar != nil else { return nil }
        if let file, file.contains("="), access(file, F_OK) != 0 {
            throw ValidationError("--cookie: takes a file; use -H 'Cookie: NAME=VALUE' for cookies")
        }
        let texts = [
            try file.map { try self.text($0, of: "--cookie") },
            try jar.flatMap { access($0, F_OK) == 0 ? try self.text($0, of: "--cookie-jar") : nil },
        ]
        // Of two cookies with one name the later one stays.
        return CookieJar(netscape: texts.compactMap(\.self).joined(separator: "\n"))
    }

    private static func text(_ path: String, of option: String) throws -> String {
        try OptionParsing.naming(option, PipedFile.text(of: path, atMost: self.maxBytes))
    }

    /// Writes a new file, for its owner only, and puts it in the old one's place.
    static func write(_ jar: CookieJar, to path: String) throws(TextError) {
        let fresh = "\(path).new"
        // What a crash left there is not written into.
        unlink(fresh)
        let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TextError("\(fresh) cannot be written: \(TextFile.errorMessage(errno))") }
        let code = TextFile.write(Array(jar.netscapeText.utf8), to: descriptor)
        close(descriptor)
        if let code {
            unlink(fresh)
            throw TextError("\(fresh) cannot be written: \(TextFile.errorMessage(code))")
        }
        guard rename(fresh, path) == 0 else {
            throw TextError("\(path) cannot be written: \(TextFile.errorMessage(errno))")
        }
    }
}
