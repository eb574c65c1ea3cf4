internal import Glibc

/// The system's messages for its error numbers.
enum SystemError {
    /// What strerror(3) says.
    static func message(_ code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}
