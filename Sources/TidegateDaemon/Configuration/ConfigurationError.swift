/// Everything that is wrong with a configuration file, in the order of its lines.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One thing that is wrong.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file as it was named.
        package var file: String
        /// The line, from 1; nil where the file as a whole is meant.
        package var line: Int?
        /// The key with its sections, such as `transfers.retry.base`; nil where no key is meant.
        package var key: String?
        /// What is wrong, without a full stop.
        package var message: String

        /// `FILE:LINE: KEY: MESSAGE`.
        package var description: String {
            let place = self.line.map { "\(self.file):\($0)" } ?? self.file
            return [place, self.key, self.message].compactMap(\.self).joined(separator: ": ")
        }
    }

    /// What is wrong; never empty.
    package let problems: [Problem]

    init(_ problems: [Problem]) {
        self.problems = problems.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
    }

    /// What is wrong with several files, one after the other.
    init?(_ errors: [ConfigurationError]) {
        guard !errors.isEmpty else { return nil }
        self.problems = errors.flatMap(\.problems)
    }

    init(file: String, line: Int? = nil, _ message: String) {
        self.init([Problem(file: file, line: line, message: message)])
    }

    /// One problem a line.
    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
