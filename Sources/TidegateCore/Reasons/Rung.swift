/// A step of the ladder from the monitor itself to HTTP.
public enum Rung: String, Sendable, MetricLabel {
    case monitor, interface, carrier, address, route, gateway, dns, internet, tcp, tls, http
}
