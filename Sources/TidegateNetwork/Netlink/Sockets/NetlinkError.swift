internal import CNetlink
internal import Glibc

/// A netlink operation failed.
package struct NetlinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What failed, such as `opening a route netlink socket`.
    package let operation: String
    /// The error's description (nl_geterror(3) or errno(3)).
    package let text: String

    package init(operation: String, text: String) {
        self.operation = operation
        self.text = text
    }

    /// From a negative libnl code.
    init(operation: String, libnl code: Int32) {
        self.init(operation: operation, text: nl_geterror(code).map { String(cString: $0) } ?? "error \(code)")
    }

    /// From an error number (errno(3)).
    package init(operation: String, errno code: Int32) {
        self.init(operation: operation, text: strerror(code).map { String(cString: $0) } ?? "error \(code)")
    }

    package var description: String { "\(self.operation): \(self.text)" }
}
