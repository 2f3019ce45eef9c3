// 802.11 DCF saturation in ns-3.37: some senders on a circle around one receiver, UDP.
//
// One line of JSON goes to standard output.

#include "radio.h"

#include "ns3/applications-module.h"
#include "ns3/internet-module.h"

#include <cstdio>
#include <vector>

using namespace ns3;

int
main(int argc, char* argv[])
{
    peers::RadioOptions radio;
    uint32_t senders = 1;
    uint32_t payload = 512;
    double radius = 10;
    double interval = 0.001;
    double warmUp = 1;
    double duration = 11;
    uint64_t run = 1;
    CommandLine commandLine(__FILE__);
    radio.Register(commandLine);
    commandLine.AddValue("senders", "number of senders", senders);
    commandLine.AddValue("payload", "UDP payload, bytes", payload);
    commandLine.AddValue("radius", "distance of the senders from the receiver, m", radius);
    commandLine.AddValue("interval", "time between a sender's datagrams, s", interval);
    commandLine.AddValue("warm-up", "begin of the measurement, s", warmUp);
    commandLine.AddValue("duration", "end of the run, s", duration);
    commandLine.AddValue("run", "run number of the random streams", run);
    commandLine.Parse(argc, argv);
    peers::SetRun(run);

    NodeContainer nodes(senders + 1);
    auto positions = CreateObject<ListPositionAllocator>();
    positions->Add(Vector(0, 0, 0));
    for (uint32_t i = 0; i < senders; ++i)
    {
        double angle = 2 * M_PI * i / senders;
        positions->Add(Vector(radius * std::cos(angle), radius * std::sin(angle), 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
    NetDeviceContainer devices = peers::InstallRadio(nodes, radio);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper network("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer addresses = network.Assign(devices);

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 1; i <= senders; ++i)
    {
        uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::UdpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes.Get(0)).Get(0)));
        UdpClientHelper client(addresses.GetAddress(0), port);
        client.SetAttribute("MaxPackets", UintegerValue(UINT32_MAX));
        client.SetAttribute("Interval", TimeValue(Seconds(interval)));
        client.SetAttribute("PacketSize", UintegerValue(payload));
        client.Install(nodes.Get(i)).Start(Seconds(0.01 * i));
    }

    std::vector<uint64_t> before;
    Simulator::Schedule(Seconds(warmUp), [&]() {
        for (const auto& sink : sinks)
        {
            before.push_back(sink->GetTotalRx());
        }
    });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    std::printf("{\"measured_s\": %g, \"packets\": [", duration - warmUp);
    for (uint32_t i = 0; i < senders; ++i)
    {
        uint64_t packets = (sinks[i]->GetTotalRx() - before[i]) / payload;
        std::printf("%s%lu", i == 0 ? "" : ", ", static_cast<unsigned long>(packets));
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
