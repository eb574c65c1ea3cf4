internal import TidegateCore

/// The problems of a configuration file, in the order of its lines.
package struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One problem.
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// The file's name.
        package var file: String
        /// The line, from 1; nil for the whole file.
        package var line: Int?
        /// The key with its sections, such as `transfers.retry.base`; nil if there is none.
        package var key: String?
        /// What is wrong, without a full stop.
        package var message: String

        /// `FILE:LINE: KEY: MESSAGE`.
        package var description: String {
            let location = self.line.map { "\(self.file):\($0)" } ?? self.file
            return [location, self.key, self.message].compactMap(\.self).joined(separator: ": ").escapingControls
        }
    }

    /// Never empty.
    package let problems: [Problem]

    init(_ problems: [Problem]) {
        self.problems = problems.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
    }

    /// The problems of several files; nil if there are none.
    init?(_ errors: [ConfigurationError]) {
        guard !errors.isEmpty else { return nil }
        self.problems = errors.flatMap(\.problems)
    }

    init(file: String, line: Int? = nil, _ message: String) {
        self.init([Problem(file: file, line: line, message: message)])
    }

    /// One problem per line.
    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
