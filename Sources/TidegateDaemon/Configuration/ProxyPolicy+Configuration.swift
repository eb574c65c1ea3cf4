internal import Tidegate
internal import TidegateCore

extension ProxyPolicy {
    /// One proxy for http and https URLs.
    var both: String? {
        get { self.http }
        set { (self.http, self.https) = (newValue, newValue) }
    }
}

extension ValueParser<String> {
    static let proxy = ValueParser.text("a proxy") { text throws(TextError) in
        do throws(ProxyError) {
            _ = try Proxy(text)
            return text
        } catch {
            throw TextError(error.description)
        }
    }
}
