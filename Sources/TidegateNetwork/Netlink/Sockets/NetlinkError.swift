internal import CNetlink
internal import Glibc

/// A netlink operation failed.
package struct NetlinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What failed, such as `opening a route netlink socket`.
    package let operation: String
    /// The error's description (nl_geterror(3) or errno(3)).
    package let text: String
    /// The error number (errno(3)); 0 if it is not known.
    package let code: Int32

    package init(operation: String, text: String, code: Int32 = 0) {
        self.operation = operation
        self.text = text
        self.code = code
    }

    /// From a negative libnl code.
    init(operation: String, libnl code: Int32) {
        self.init(operation: operation, text: nl_geterror(code).map { String(cString: $0) } ?? "error \(code)")
    }

    /// From an error number (errno(3)).
    package init(operation: String, errno code: Int32) {
        self.init(
            operation: operation, text: strerror(code).map { String(cString: $0) } ?? "error \(code)", code: code)
    }

    package var description: String { "\(self.operation): \(self.text)" }
}
