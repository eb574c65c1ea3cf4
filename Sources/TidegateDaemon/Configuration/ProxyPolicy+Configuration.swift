internal import Tidegate

extension ProxyPolicy {
    /// One proxy for http and https URLs.
    var both: String? {
        get { self.http }
        set { (self.http, self.https) = (newValue, newValue) }
    }
}
