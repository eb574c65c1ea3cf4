/// A call of libcurl's failed.
package struct CurlError: Error, Sendable, CustomStringConvertible {
    /// The call, as its man page names it, with the option where it has one.
    package let operation: String
    /// The `CURLcode` or `CURLMcode` (libcurl-errors(3)).
    package let code: Int32
    /// What libcurl says about the code.
    package let text: String

    package init(operation: String, code: Int32, text: String) {
        self.operation = operation
        self.code = code
        self.text = text
    }

    package var description: String { "\(self.operation): \(self.text) (\(self.code))" }
}
