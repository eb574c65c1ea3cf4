/// Which routes of a table a dump is to bring.
struct RouteFilter: Hashable {
    var table: UInt32
    /// RTPROT_*; 0 for any.
    var routeProtocol: UInt8 = 0
    /// RTN_*; 0 for any.
    var type: UInt8 = 0
}
