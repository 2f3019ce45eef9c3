// One transfer over a wired bottleneck that loses chosen packets, in ns-3.37.
//
// A line for each segment that the sender sends goes to standard output: time, segment from 1, 1 if it was sent before,
// congestion window and slow start threshold in bytes as they were then.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <list>
#include <sstream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t PAYLOAD = 1000;

/// What the sender's trace sources told last.
struct Sender
{
    uint32_t window{0};
    uint32_t threshold{0};
    uint32_t highest{0};

    void OnWindow(uint32_t, uint32_t value)
    {
        window = value;
    }

    void OnThreshold(uint32_t, uint32_t value)
    {
        threshold = value;
    }

    void OnSent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        const uint32_t segment = (header.GetSequenceNumber().GetValue() - 1) / PAYLOAD + 1;
        std::printf("%.6f,%u,%d,%u,%u\n",
                    Simulator::Now().GetSeconds(),
                    segment,
                    segment <= highest ? 1 : 0,
                    window,
                    threshold);
        highest = std::max(highest, segment);
    }
};

/// Trace the socket that the application has made.
void
Connect(Ptr<BulkSendApplication> application, Sender* sender)
{
    Ptr<Socket> socket = application->GetSocket();
    socket->TraceConnectWithoutContext("CongestionWindow",
                                       MakeCallback(&Sender::OnWindow, sender));
    socket->TraceConnectWithoutContext("SlowStartThreshold",
                                       MakeCallback(&Sender::OnThreshold, sender));
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Sender::OnSent, sender));
}

NetDeviceContainer
Link(Ptr<Node> from,
     Ptr<Node> to,
     const std::string& rate,
     const std::string& delay,
     uint32_t packets = 1000)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  StringValue(std::to_string(packets) + "p"));
    return link.Install(from, to);
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string variant = "TcpNewReno";
    std::string recovery = "classic";
    std::string drops;
    uint32_t segments = 300;
    uint32_t queue = 1000;
    bool timestamps = false;
    double stop = 60;
    CommandLine commandLine(__FILE__);
    commandLine.AddValue("variant", "TcpNewReno, TcpCubic and so on", variant);
    commandLine.AddValue("recovery", "classic or prr", recovery);
    commandLine.AddValue("drops", "data packets that the router loses, counted from 1: 20,23", drops);
    commandLine.AddValue("segments", "segments to transfer", segments);
    commandLine.AddValue("queue", "packets that may wait at the bottleneck", queue);
    commandLine.AddValue("timestamps", "whether segments carry timestamps", timestamps);
    commandLine.AddValue("stop", "end of the run in seconds", stop);
    commandLine.Parse(argc, argv);
    const std::string recoveryType =
        recovery == "prr" ? "ns3::TcpPrrRecovery" : "ns3::TcpClassicRecovery";
    // ns-3 has Westwood+ as a kind of Westwood.
    Config::SetDefault("ns3::TcpWestwood::ProtocolType",
                       EnumValue(variant == "TcpWestwoodPlus" ? TcpWestwood::WESTWOODPLUS
                                                              : TcpWestwood::WESTWOOD));
    const std::string socketType = variant == "TcpWestwoodPlus" ? "TcpWestwood" : variant;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + socketType)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName(recoveryType)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(131072));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(262144));

    NodeContainer nodes(3);
    NetDeviceContainer access = Link(nodes.Get(0), nodes.Get(1), "10Mbps", "2ms");
    NetDeviceContainer bottleneck = Link(nodes.Get(1), nodes.Get(2), "800kbps", "100ms", queue);
    // The router receives the SYN as packet 0 and the handshake's acknowledgement as packet 1.
    std::list<uint32_t> lost;
    std::replace(drops.begin(), drops.end(), ',', ' ');
    std::istringstream words(drops);
    for (uint32_t packet = 0; words >> packet;)
    {
        lost.push_back(packet + 1);
    }
    auto losses = CreateObject<ReceiveListErrorModel>();
    losses->SetList(lost);
    access.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));

    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(access);
    addresses.NewNetwork();
    const Ipv4Address destination = addresses.Assign(bottleneck).GetAddress(1);
    // Before a queue that may overflow, no second one with CoDel stands.
    if (queue < 1000)
    {
        TrafficControlHelper().Uninstall(bottleneck);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sink.Install(nodes.Get(2)).Start(Seconds(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(destination, 5000));
    bulk.SetAttribute("SendSize", UintegerValue(PAYLOAD));
    bulk.SetAttribute("MaxBytes", UintegerValue(segments * PAYLOAD));
    auto application = DynamicCast<BulkSendApplication>(bulk.Install(nodes.Get(0)).Get(0));
    application->SetStartTime(Seconds(0));
    Sender sender;
    Simulator::Schedule(NanoSeconds(1), [&]() { Connect(application, &sender); });
    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
