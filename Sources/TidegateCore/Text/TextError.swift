internal import Glibc

/// Why a text from the user is invalid; quotes it.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The message, without a full stop.
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension Result {
    /// Why there is no value; nil if there is one.
    package var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension RawRepresentable<String> where Self: CaseIterable {
    /// The case with this raw value.
    ///
    /// - Throws: ``TextError`` that lists them all.
    package init(word: String) throws(TextError) {
        guard let value = Self(rawValue: word) else {
            throw TextError("\"\(word)\" is not one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = value
    }
}

/// The system's messages for error numbers.
package enum SystemError {
    /// The text of strerror(3).
    package static func message(_ code: Int32) -> String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
