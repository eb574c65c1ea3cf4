internal import FoundationEssentials
internal import TidegateCore

extension Credentials {
    /// The value of Authorization in HTTP's Basic scheme, in UTF-8 (RFC 7617).
    var basicAuthorization: String {
        "Basic \(Data("\(self.user):\(self.password)".utf8).base64EncodedString())"
    }
}
